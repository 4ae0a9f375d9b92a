#include "lowtide/base/interrupt.h"

#include <atomic>
#include <chrono>

namespace lowtide {
namespace {

std::atomic<void (*)()> hook{nullptr};
thread_local std::chrono::steady_clock::time_point last_check{};

}  // namespace

void set_interrupt_hook(void (*new_hook)()) { hook.store(new_hook); }

void interrupt_now() {
  last_check = std::chrono::steady_clock::now();
  if (auto* run = hook.load()) run();
}

void interrupt_point() {
  if (std::chrono::steady_clock::now() - last_check >= std::chrono::milliseconds(interrupt_slice_ms)) interrupt_now();
}

}  // namespace lowtide
