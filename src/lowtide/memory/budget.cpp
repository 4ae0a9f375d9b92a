#include "lowtide/memory/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/turn.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/memory/operation.h"

namespace lowtide {

std::string_view name(Purpose purpose) {
  static constexpr std::array<std::string_view, purpose_count> names = {"results",    "cache",        "staging",
                                                                        "read_ahead", "write_behind", "index"};
  return names[static_cast<std::size_t>(purpose)];
}

namespace {

std::atomic<void (*)()> last_resort{nullptr};
std::atomic<void (*)()> first_use{nullptr};

constexpr int most_last_resorts = 16;

// Locks again when a scope ends, however it ends.
class Relocked {
 public:
  explicit Relocked(std::unique_lock<std::mutex>& lock) : lock_(lock) {}
  ~Relocked() { lock_.lock(); }
  Relocked(const Relocked&) = delete;
  Relocked& operator=(const Relocked&) = delete;

 private:
  std::unique_lock<std::mutex>& lock_;
};

}  // namespace

void set_last_resort(void (*hook)()) { last_resort.store(hook); }
void set_first_use(void (*hook)()) { first_use.store(hook); }

Lease::Lease(Lease&& other) noexcept
    : budget_(std::exchange(other.budget_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      holder_(other.holder_),
      purpose_(other.purpose_) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::exchange(other.budget_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    holder_ = other.holder_;
    purpose_ = other.purpose_;
  }
  return *this;
}

void Lease::release() noexcept {
  if (budget_ != nullptr) budget_->give_back(*this, bytes_);
  budget_ = nullptr;
  bytes_ = 0;
}

void Lease::shrink(std::uint64_t bytes) noexcept {
  if (budget_ == nullptr || bytes >= bytes_) return;
  budget_->give_back(*this, bytes_ - bytes);
  bytes_ = bytes;
}

Lease Lease::split(std::uint64_t bytes, Purpose purpose) noexcept {
  if (budget_ == nullptr) return {};
  bytes = std::min(bytes, bytes_);
  const std::uint32_t holder = purpose == purpose_ ? holder_ : budget_->move(*this, bytes, purpose);
  bytes_ -= bytes;
  return Lease(budget_, bytes, purpose, holder);
}

void Lease::absorb(Lease other) noexcept {
  if (!other) return;
  if (budget_ == nullptr) {
    *this = std::move(other);
    return;
  }
  budget_->absorb(*this, other);
  bytes_ += std::exchange(other.bytes_, 0);
}

Budget::Budget(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

// A place in the line, for as long as a take() waits.
class Budget::InLine {
 public:
  InLine(Budget& budget, Waiter& waiter) : budget_(budget), waiter_(waiter) {
    budget_.line_.push_back(&waiter_);
    budget_.holders_.begin_wait(waiter_.thread);
  }
  // REQUIRES: lock held
  ~InLine() {
    budget_.holders_.end_wait(waiter_.thread);
    std::erase(budget_.line_, &waiter_);
    budget_.released_.notify_all();  // the next one is first now
  }
  InLine(const InLine&) = delete;
  InLine& operator=(const InLine&) = delete;

 private:
  Budget& budget_;
  Waiter& waiter_;
};

bool Budget::grant(std::uint64_t bytes, Purpose purpose, std::uint32_t thread) {
  if (bytes > limit_bytes_ || held_bytes_ > limit_bytes_ - bytes) return false;
  holders_.make(thread);
  holders_.add(bytes, purpose, thread);
  held_bytes_ += bytes;
  by_purpose_[static_cast<std::size_t>(purpose)] += bytes;
  peak_bytes_ = std::max(peak_bytes_, held_bytes_);
  return true;
}

bool Budget::somebody_first(std::uint32_t thread, const Waiter* before) const {
  if (line_.empty() || line_.front() == before) return false;
  const auto now = Clock::now();
  for (const Waiter* waiter : line_) {
    if (waiter == before) return false;
    if (waiter->thread != thread && now < waiter->first_until) return true;
  }
  return false;
}

// What waits may wait for what this thread holds, so that the thread must not wait behind it.
bool Budget::in_operation(std::uint32_t thread) const {
  return holders_.has(thread) && (holders_.transient_bytes(thread) > 0 || holders_.waits(thread));
}

Lease Budget::take(std::uint64_t bytes, Purpose purpose, std::string_view operation) {
  const std::uint32_t thread = this_thread_id();
  if (fresh_.load(std::memory_order_relaxed) && !on_own_thread() && fresh_.exchange(false)) {
    if (auto* const hook = first_use.load()) hook();
  }
  std::unique_lock lock(mutex_);
  const bool waits = !in_operation(thread) && somebody_first(thread);
  if (!waits && grant(bytes, purpose, thread)) return Lease(this, bytes, purpose, thread);
  return wait_for(lock, bytes, purpose, operation);
}

std::uint64_t Budget::missing_bytes(std::uint64_t bytes) const {
  return held_bytes_ + bytes > limit_bytes_ ? held_bytes_ + bytes - limit_bytes_ : 0;
}

void Budget::expect_less(Waiter& waiter, std::uint64_t bytes) const {
  const std::uint64_t missing = missing_bytes(bytes);
  if (missing >= waiter.least_missing_bytes) return;
  waiter.least_missing_bytes = missing;
  waiter.first_until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait_s_));
}

bool Budget::worth_waiting(const Waiter& waiter, std::uint64_t bytes) const {
  const std::uint64_t missing = missing_bytes(bytes);
  const Holders::Expected expected = holders_.of_others(waiter.thread);
  if (missing <= expected.certain_bytes) return true;
  // A thread of the library's own has nobody who could drop a result meanwhile.
  return !on_own_thread() && missing <= expected.certain_bytes + expected.possible_bytes &&
         Clock::now() < waiter.first_until;
}

Lease Budget::wait_for(std::unique_lock<std::mutex>& lock, std::uint64_t bytes, Purpose purpose,
                       std::string_view operation) {
  int last_resorts = 0;
  std::optional<std::uint64_t> returned_before;  // when the last resort was last tried
  Waiter me{.thread = this_thread_id()};
  const bool goes_first = in_operation(me.thread);
  holders_.make(me.thread);
  const InLine in_line(*this, me);
  const auto unlocked = [&](auto work) {
    lock.unlock();
    const Relocked relocked(lock);
    return work();
  };
  while (true) {
    const bool waits = !goes_first && somebody_first(me.thread, &me);
    if (!waits && grant(bytes, purpose, me.thread)) return Lease(this, bytes, purpose, me.thread);
    if (bytes > limit_bytes_) refuse(bytes, purpose, operation);
    expect_less(me, bytes);
    if (!waits) {
      const std::uint64_t missing = missing_bytes(bytes);
      if (unlocked([&] { return evict(missing); }) > 0 || missing_bytes(bytes) == 0) continue;
    }
    // Garbage that it frees may be taken by whoever is faster, and become garbage again: it is worth asking while bytes come back.
    const bool wait = waits || worth_waiting(me, bytes);
    const bool first_try = last_resorts == 0 && missing_bytes(bytes) > holders_.of_others(me.thread).certain_bytes;
    auto* const hook = last_resort.load();
    if (hook != nullptr && !on_own_thread() && (first_try || !wait) && last_resorts < most_last_resorts &&
        returned_before != returned_bytes_) {
      ++last_resorts;
      returned_before = returned_bytes_;
      unlocked([&] { hook(); });
      continue;
    }
    if (!wait) refuse(bytes, purpose, operation);
    released_.wait_for(lock, std::chrono::milliseconds(interrupt_slice_ms));
    unlocked([] { interrupt_point(); });
  }
}

Lease Budget::try_take(std::uint64_t bytes, Purpose purpose) {
  const std::uint32_t thread = this_thread_id();
  const std::lock_guard lock(mutex_);
  if (somebody_first(thread) || !grant(bytes, purpose, thread)) return {};
  return Lease(this, bytes, purpose, thread);
}

Lease Budget::try_take_between(std::uint64_t least, std::uint64_t most, Purpose purpose) {
  const std::uint32_t thread = this_thread_id();
  const std::lock_guard lock(mutex_);
  const std::uint64_t spare = limit_bytes_ > held_bytes_ ? limit_bytes_ - held_bytes_ : 0;
  const std::uint64_t bytes = std::min(most, spare);
  if (bytes < least || somebody_first(thread) || !grant(bytes, purpose, thread)) return {};
  return Lease(this, bytes, purpose, thread);
}

void Budget::give_back(const Lease& lease, std::uint64_t bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!holders_.remove(bytes, lease.purpose_, lease.holder_)) return;
    held_bytes_ -= bytes;
    returned_bytes_ += bytes;
    by_purpose_[static_cast<std::size_t>(lease.purpose_)] -= bytes;
    if (line_.empty()) return;
  }
  released_.notify_all();
}

std::uint32_t Budget::move(const Lease& from, std::uint64_t bytes, Purpose to) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint32_t asking = this_thread_id();
  const std::uint32_t holder = holders_.has(asking) ? asking : from.holder_;
  if (holders_.remove(bytes, from.purpose_, from.holder_)) {
    by_purpose_[static_cast<std::size_t>(from.purpose_)] -= bytes;
  } else {
    held_bytes_ += bytes;
  }
  by_purpose_[static_cast<std::size_t>(to)] += bytes;
  holders_.add(bytes, to, holder);
  return holder;
}

void Budget::absorb(Lease& into, const Lease& from) noexcept {
  const std::lock_guard lock(mutex_);
  if (holders_.remove(from.bytes_, from.purpose_, from.holder_)) {
    by_purpose_[static_cast<std::size_t>(from.purpose_)] -= from.bytes_;
  } else {
    held_bytes_ += from.bytes_;
  }
  by_purpose_[static_cast<std::size_t>(into.purpose_)] += from.bytes_;
  holders_.add(from.bytes_, into.purpose_, into.holder_);
}

Budget::Callback::Callback(Budget& budget) : budget_(budget) {
  const std::lock_guard lock(budget_.mutex_);
  budget_.holders_.make(this_thread_id());
  budget_.holders_.begin_wait(this_thread_id());
}

Budget::Callback::~Callback() {
  const std::lock_guard lock(budget_.mutex_);
  budget_.holders_.end_wait(this_thread_id());
}

double Budget::wait_s() const {
  const std::lock_guard lock(mutex_);
  return wait_s_;
}

double Budget::set_wait(double seconds) {
  const std::lock_guard lock(mutex_);
  return std::exchange(wait_s_, seconds);
}

namespace {

// What helps depends on who asked: a loader, a save or a writer has no blocks() to walk over.
std::string_view pieces_instead_of(std::string_view operation) {
  if (operation.starts_with(reading_a_map))
    return ", or read less at a time: m[i:j], or for start, rows in m.blocks(): ...";
  if (operation.starts_with(reading_blocks)) return ", or take fewer rows at a time: a.blocks(rows=...)";
  if (operation.starts_with(reading_an_array)) return ", or work in pieces: for start, rows in a.blocks(): ...";
  return "";
}

}  // namespace

void Budget::refuse(std::uint64_t bytes, Purpose purpose, std::string_view operation) const {
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
  message += pieces_instead_of(operation);
  const bool loading = purpose == Purpose::read_ahead && !operation.starts_with(reading_blocks);
  const bool others_load = by_purpose_[static_cast<std::size_t>(Purpose::read_ahead)] > 0;
  if (loading) message += ", or take less at a time: a smaller batch= or window=";
  if (others_load && (loading || purpose == Purpose::index)) message += ", or loader.close() of another loader";
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

std::uint64_t Budget::reachable_bytes() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t kept = held_bytes_ - by_purpose_[static_cast<std::size_t>(Purpose::cache)];
  return limit_bytes_ > kept ? limit_bytes_ - kept : 0;
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

bool Budget::try_lock_for_fork() { return mutex_.try_lock(); }

void Budget::unlock_after_fork(bool in_child) {
  if (in_child) {
    // A condition variable that had waiters at fork time would wait for them in the child for ever.
    new (&released_) std::condition_variable;
    const std::uint32_t here = this_thread_id();
    std::erase_if(line_, [here](const Waiter* waiter) { return waiter->thread != here; });
    const std::uint64_t gone_bytes = holders_.write_off_others(here);
    held_bytes_ -= gone_bytes;
    fresh_ = true;
    by_purpose_[static_cast<std::size_t>(Purpose::staging)] -= gone_bytes;
  }
  mutex_.unlock();
}

}  // namespace lowtide
