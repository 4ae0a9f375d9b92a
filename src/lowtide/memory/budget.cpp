#include "lowtide/memory/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"

namespace lowtide {

std::string_view name(Purpose purpose) {
  static constexpr std::array<std::string_view, purpose_count> names = {"results",    "cache",        "staging",
                                                                        "read_ahead", "write_behind", "index"};
  return names[static_cast<std::size_t>(purpose)];
}

namespace {

std::atomic<void (*)()> last_resort{nullptr};

constexpr int most_last_resorts = 16;

bool transient(Purpose purpose) { return purpose == Purpose::staging; }

}  // namespace

void set_last_resort(void (*hook)()) { last_resort.store(hook); }

Lease::Lease(Lease&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      purpose_(other.purpose_) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::exchange(other.budget_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    purpose_ = other.purpose_;
  }
  return *this;
}

void Lease::release() noexcept {
  if (budget_ != nullptr) budget_->give_back(bytes_, purpose_);
  budget_ = nullptr;
  bytes_ = 0;
}

void Lease::shrink(std::uint64_t bytes) noexcept {
  if (budget_ == nullptr || bytes >= bytes_) return;
  budget_->give_back(bytes_ - bytes, purpose_);
  bytes_ = bytes;
}

Lease Lease::split(std::uint64_t bytes, Purpose purpose) noexcept {
  if (budget_ == nullptr) return {};
  bytes = std::min(bytes, bytes_);
  budget_->move_between(bytes, purpose_, purpose);
  bytes_ -= bytes;
  return Lease(budget_, bytes, purpose);
}

void Lease::absorb(Lease other) noexcept {
  if (!other) return;
  if (budget_ == nullptr) {
    *this = std::move(other);
    return;
  }
  budget_->move_between(other.bytes_, other.purpose_, purpose_);
  bytes_ += std::exchange(other.bytes_, 0);
}

Budget::Budget(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

bool Budget::grant(std::uint64_t bytes, Purpose purpose) {
  if (bytes > limit_bytes_ || held_bytes_ > limit_bytes_ - bytes) return false;
  held_bytes_ += bytes;
  by_purpose_[static_cast<std::size_t>(purpose)] += bytes;
  peak_bytes_ = std::max(peak_bytes_, held_bytes_);
  return true;
}

Lease Budget::take(std::uint64_t bytes, Purpose purpose, std::string_view operation) {
  int last_resorts = 0;
  std::optional<std::uint64_t> returned_before;  // when the last resort was last tried
  std::unique_lock lock(mutex_);
  while (!grant(bytes, purpose)) {
    if (bytes <= limit_bytes_) {
      const std::uint64_t missing = held_bytes_ + bytes - limit_bytes_;
      lock.unlock();
      const std::uint64_t freed = evict(missing);
      lock.lock();
      if (freed > 0 || held_bytes_ <= limit_bytes_ - bytes) continue;  // others may have released while it was unlocked
      std::uint64_t released_in_time = 0;
      for (std::size_t i = 0; i < purpose_count; ++i) {
        if (transient(static_cast<Purpose>(i))) released_in_time += by_purpose_[i];
      }
      released_in_time -= std::min(released_in_time, lost_bytes_);
      if (released_in_time > 0 && held_bytes_ - released_in_time <= limit_bytes_ - bytes) {
        released_.wait_for(lock, std::chrono::milliseconds(interrupt_slice_ms));
        lock.unlock();
        interrupt_now();
        lock.lock();
        continue;
      }
    }
    // Garbage that it frees may be taken by whoever is faster, and become garbage again: it is worth asking while bytes come back.
    if (auto* hook = last_resort.load(); hook != nullptr && !on_own_thread() && bytes <= limit_bytes_ &&
                                         last_resorts < most_last_resorts && returned_before != returned_bytes_) {
      ++last_resorts;
      returned_before = returned_bytes_;
      lock.unlock();
      hook();
      lock.lock();
      continue;
    }
    refuse(bytes, operation);
  }
  return Lease(this, bytes, purpose);
}

Lease Budget::try_take(std::uint64_t bytes, Purpose purpose) {
  const std::lock_guard lock(mutex_);
  return grant(bytes, purpose) ? Lease(this, bytes, purpose) : Lease();
}

Lease Budget::try_take_between(std::uint64_t least, std::uint64_t most, Purpose purpose) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t spare = limit_bytes_ > held_bytes_ ? limit_bytes_ - held_bytes_ : 0;
  const std::uint64_t bytes = std::min(most, spare);
  if (bytes < least || !grant(bytes, purpose)) return {};
  return Lease(this, bytes, purpose);
}

void Budget::give_back(std::uint64_t bytes, Purpose purpose) noexcept {
  {
    const std::lock_guard lock(mutex_);
    held_bytes_ -= bytes;
    returned_bytes_ += bytes;
    by_purpose_[static_cast<std::size_t>(purpose)] -= bytes;
  }
  released_.notify_all();
}

void Budget::move_between(std::uint64_t bytes, Purpose from, Purpose to) noexcept {
  const std::lock_guard lock(mutex_);
  by_purpose_[static_cast<std::size_t>(from)] -= bytes;
  by_purpose_[static_cast<std::size_t>(to)] += bytes;
}

void Budget::refuse(std::uint64_t bytes, std::string_view operation) const {
  std::string holders;
  for (std::size_t i = 0; i < purpose_count; ++i) {
    if (by_purpose_[i] == 0) continue;
    holders += fmt::format("{}{} {}", holders.empty() ? "" : ", ", name(static_cast<Purpose>(i)),
                           format_bytes(by_purpose_[i]));
  }
  const std::uint64_t enough = held_bytes_ + bytes;
  const std::uint64_t enough_mib = (enough + (1 << 20) - 1) >> 20;
  std::string message =
      fmt::format("{} needs at least {}; the budget is {}", operation, format_bytes(bytes), format_bytes(limit_bytes_));
  message += holders.empty() ? " and nothing else is held."
                             : fmt::format(", of which {} is held ({}).", format_bytes(held_bytes_), holders);
  message += fmt::format("\nTo make room: set_budget(\"{}MiB\")", enough_mib);
  if (by_purpose_[static_cast<std::size_t>(Purpose::results)] > 0)
    message += ", or drop results you no longer need (del x)";
  message += ", or work in pieces: for start, rows in a.blocks(): ...";
  throw BudgetError(message, bytes, limit_bytes_);
}

std::uint64_t Budget::limit_bytes() const {
  const std::lock_guard lock(mutex_);
  return limit_bytes_;
}

std::uint64_t Budget::set_limit(std::uint64_t bytes, std::string source) {
  std::uint64_t previous;
  std::uint64_t overdrawn;
  {
    const std::lock_guard lock(mutex_);
    previous = std::exchange(limit_bytes_, bytes);
    source_ = std::move(source);
    overdrawn = held_bytes_ > bytes ? held_bytes_ - bytes : 0;
  }
  if (overdrawn > 0) evict(overdrawn);
  released_.notify_all();
  return previous;
}

std::string Budget::source() const {
  const std::lock_guard lock(mutex_);
  return source_;
}

std::uint64_t Budget::spare_bytes() const {
  const std::lock_guard lock(mutex_);
  return limit_bytes_ > held_bytes_ ? limit_bytes_ - held_bytes_ : 0;
}

Usage Budget::usage() const {
  const std::lock_guard lock(mutex_);
  Usage usage{limit_bytes_, held_bytes_, peak_bytes_, {}};
  for (std::size_t i = 0; i < purpose_count; ++i) {
    if (by_purpose_[i] > 0) usage.by_purpose.emplace(name(static_cast<Purpose>(i)), by_purpose_[i]);
  }
  return usage;
}

void Budget::reset_peak() {
  const std::lock_guard lock(mutex_);
  peak_bytes_ = held_bytes_;
}

void Budget::add_evictable(Evictable* evictable) {
  const std::lock_guard lock(mutex_);
  evictables_.push_back(evictable);
}

std::uint64_t Budget::evict(std::uint64_t bytes) {
  std::vector<Evictable*> evictables;
  {
    const std::lock_guard lock(mutex_);
    evictables = evictables_;
  }
  std::uint64_t freed = 0;
  for (Evictable* evictable : evictables) {
    if (freed < bytes) freed += evictable->evict(bytes - freed);
  }
  return freed;
}

void Budget::lock_for_fork() { mutex_.lock(); }

void Budget::unlock_after_fork(bool in_child) {
  // A condition variable that had waiters at fork time would wait for them in the child for ever.
  if (in_child) {
    new (&released_) std::condition_variable;
    lost_bytes_ = by_purpose_[static_cast<std::size_t>(Purpose::staging)];
  }
  mutex_.unlock();
}

}  // namespace lowtide
