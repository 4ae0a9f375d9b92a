// A byte budget that many threads draw from.
//
// Every block the library holds is paid for by a Lease. Nothing is allocated before its lease is granted.
//
//   Lease lease = Budget::process().take(64_MiB, Purpose::results, "read of x.npy");   // evicts, waits, or throws BudgetError
//   Lease spare = Budget::process().try_take(8_MiB, Purpose::staging);                  // empty if it does not fit now
//
// Deadlock is impossible by construction: an operation takes its least working set in one take() before it starts, and
// only ever try_take()s more. What is certain to be released without anyone's help (staging) is transient; take() waits for that as long as
// it takes. For what other threads may give back or keep (results, indices, an iterator's read-ahead) it waits only a while: wait_s()
// since the last time that less was missing than ever before. Bytes of its own thread, of threads that wait too and of threads in a callback
// are not waited for.
//
// First come, first served: while less and less is missing for whoever has waited longest, nobody overtakes it, and try_take() gives nothing.
// A thread that is in the middle of an operation (a callback of it takes) goes before all.
//
// Thread-safe: every member. Blocks: take(), interruptible; never call it with a lock held, Python's included.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lowtide/budget.h"
#include "lowtide/memory/holders.h"
#include "lowtide/memory/purpose.h"

namespace lowtide {

// Called by any budget, with no lock held, before it refuses, and again while bytes come back but are not enough: the border frees what
// garbage still holds (Python's collector).
void set_last_resort(void (*hook)());
// Called by any budget, with no lock held, before it is first used in a process, a forked child too: the border may know of a share.
void set_first_use(void (*hook)());

class Budget;

// A move-only claim on budget bytes; gives them back when destroyed. An empty lease holds nothing.
class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease() { release(); }

  std::uint64_t bytes() const { return bytes_; }
  Purpose purpose() const { return purpose_; }
  explicit operator bool() const { return budget_ != nullptr; }
  void release() noexcept;
  void shrink(std::uint64_t bytes) noexcept;  // REQUIRES: bytes <= this->bytes()
  Lease split(std::uint64_t bytes,
              Purpose purpose) noexcept;  // moves part of the claim out; REQUIRES: bytes <= this->bytes()
  void absorb(Lease other) noexcept;      // the two become one, under this purpose

 private:
  friend class Budget;
  Lease(Budget* budget, std::uint64_t bytes, Purpose purpose, std::uint32_t holder)
      : budget_(budget), bytes_(bytes), holder_(holder), purpose_(purpose) {}
  Budget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint32_t holder_ = 0;  // the thread that took it, or gave it its purpose
  Purpose purpose_ = Purpose::staging;
};

// Something that can give bytes back at little cost (the cache). evict() frees up to `bytes` and returns what it freed;
// it is called without the budget's lock and may be called from any thread.
class Evictable {
 public:
  virtual ~Evictable() = default;
  virtual std::uint64_t evict(std::uint64_t bytes) = 0;
};

class Budget {
 public:
  static constexpr double default_wait_s = 2;

  explicit Budget(std::uint64_t limit_bytes);
  static Budget& process();  // never destroyed, so that leases held at exit stay valid

  Lease take(std::uint64_t bytes, Purpose purpose, std::string_view operation);
  Lease try_take(std::uint64_t bytes, Purpose purpose);
  // The largest lease between least and most that fits now without evicting; empty if not even least does.
  Lease try_take_between(std::uint64_t least, std::uint64_t most, Purpose purpose);

  // How long take() waits for what others may keep.
  double wait_s() const;
  double set_wait(double seconds);  // returns the previous one

  std::uint64_t limit_bytes() const;
  std::uint64_t set_limit(std::uint64_t bytes, std::string source);  // returns the previous limit
  std::string source() const;
  std::uint64_t spare_bytes() const;      // limit less held; 0 when a lowered limit is overdrawn
  std::uint64_t reachable_bytes() const;  // what take() could have without waiting: spare or only cached
  Usage usage() const;
  void reset_peak();

  void add_evictable(
      Evictable* evictable);  // asked, in order, before take() waits or refuses; for the life of the budget

  // For a scope in which this thread runs somebody else's code in the middle of an operation: others do not count on what it holds.
  class Callback {
   public:
    explicit Callback(Budget& budget);
    ~Callback();
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;

   private:
    Budget& budget_;
  };

  bool try_lock_for_fork();
  void unlock_after_fork(bool in_child);

 private:
  friend class Lease;
  using Clock = std::chrono::steady_clock;
  // Whoever waits, in the order of coming.
  struct Waiter {
    std::uint32_t thread;
    std::uint64_t least_missing_bytes = UINT64_MAX;
    Clock::time_point first_until{};  // until then nobody overtakes it
  };
  class InLine;
  // REQUIRES, these: lock held.
  bool grant(std::uint64_t bytes, Purpose purpose, std::uint32_t thread);
  bool somebody_first(std::uint32_t thread, const Waiter* before = nullptr) const;
  bool in_operation(std::uint32_t thread) const;
  std::uint64_t missing_bytes(std::uint64_t bytes) const;
  void expect_less(Waiter& waiter, std::uint64_t bytes) const;
  bool worth_waiting(const Waiter& waiter, std::uint64_t bytes) const;
  [[noreturn]] void refuse(std::uint64_t bytes, Purpose purpose, std::string_view operation) const;

  Lease wait_for(std::unique_lock<std::mutex>& lock, std::uint64_t bytes, Purpose purpose, std::string_view operation);
  std::uint64_t evict(std::uint64_t bytes);  // REQUIRES: lock not held
  void give_back(const Lease& lease, std::uint64_t bytes) noexcept;
  // Returns the holder: the thread that asks, if the budget knows it.
  std::uint32_t move(const Lease& from, std::uint64_t bytes, Purpose to) noexcept;
  void absorb(Lease& into, const Lease& from) noexcept;

  std::atomic<bool> fresh_{true};
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::uint64_t limit_bytes_;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t returned_bytes_ = 0;  // all that was ever given back
  std::uint64_t peak_bytes_ = 0;
  double wait_s_ = default_wait_s;
  std::array<std::uint64_t, purpose_count> by_purpose_{};
  Holders holders_;
  std::vector<Waiter*> line_;
  std::string source_;
  std::vector<Evictable*> evictables_;
};

}  // namespace lowtide
