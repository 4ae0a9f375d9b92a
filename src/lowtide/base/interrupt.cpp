#include "lowtide/base/interrupt.h"

#include <atomic>
#include <chrono>

namespace lowtide {
namespace {

std::atomic<void (*)()> hook{nullptr};
thread_local std::chrono::steady_clock::time_point last_check{};
thread_local bool own_thread = false;

}  // namespace

OwnThread::OwnThread() { own_thread = true; }
OwnThread::~OwnThread() { own_thread = false; }
bool on_own_thread() { return own_thread; }

void set_interrupt_hook(void (*new_hook)()) { hook.store(new_hook); }

void interrupt_now() {
  if (own_thread) return;
  last_check = std::chrono::steady_clock::now();
  if (auto* run = hook.load()) run();
}

void interrupt_point() {
  if (std::chrono::steady_clock::now() - last_check >= std::chrono::milliseconds(interrupt_slice_ms)) interrupt_now();
}

}  // namespace lowtide
