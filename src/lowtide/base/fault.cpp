#include "lowtide/base/fault.h"

#include <array>
#include <atomic>
#include <mutex>

#include "lowtide/base/fork.h"

namespace lowtide::fault {
namespace {

std::atomic<bool> armed{false};
ForkMutex plan_mutex{ForkRank::faults};
Plan current;
std::array<std::int64_t, stage_count> counts{};

}  // namespace

void set(const Plan& plan) {
  const std::lock_guard lock(plan_mutex);
  current = plan;
  counts.fill(0);
  armed = true;
}

void clear() { armed = false; }

std::int64_t seen(Stage stage) {
  const std::lock_guard lock(plan_mutex);
  return counts[static_cast<std::size_t>(stage)];
}

int at(Stage stage) {
  if (!armed.load(std::memory_order_relaxed)) return 0;
  const std::lock_guard lock(plan_mutex);
  const std::int64_t n = ++counts[static_cast<std::size_t>(stage)];
  if (stage != current.stage) return 0;
  const bool hit = current.persistent ? n >= current.nth : n == current.nth;
  if (!hit) return 0;
  return current.error == 0 ? give_short : current.error;
}

}  // namespace lowtide::fault
