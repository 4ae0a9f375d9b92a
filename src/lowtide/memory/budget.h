// A byte budget that many threads draw from.
//
// Every block the library holds is paid for by a Lease. Nothing is allocated before its lease is granted.
//
//   Lease lease = Budget::process().take(64_MiB, Purpose::results, "read of x.npy");   // evicts, waits, or throws BudgetError
//   Lease spare = Budget::process().try_take(8_MiB, Purpose::staging);                  // empty if it does not fit now
//
// Deadlock is impossible by construction: an operation takes its least working set in one take() before it starts, and
// only ever try_take()s more. What is certain to be released without anyone's help (staging) is transient; take() waits for
// that, never for what a caller may keep for ever: results, indices, an iterator's read-ahead, an open Writer's write-behind.
//
// Thread-safe: every member. Blocks: take(), only while transient bytes would be enough.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "lowtide/budget.h"

namespace lowtide {

// Called by any budget, with no lock held, before it refuses, and again while bytes come back but are not enough: the border frees what
// garbage still holds (Python's collector).
void set_last_resort(void (*hook)());

enum class Purpose : std::uint8_t { results, cache, staging, read_ahead, write_behind, index };
inline constexpr std::size_t purpose_count = 6;
std::string_view name(Purpose purpose);

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
  Lease(Budget* budget, std::uint64_t bytes, Purpose purpose) : budget_(budget), bytes_(bytes), purpose_(purpose) {}
  Budget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
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
  explicit Budget(std::uint64_t limit_bytes);
  static Budget& process();  // never destroyed, so that leases held at exit stay valid

  Lease take(std::uint64_t bytes, Purpose purpose, std::string_view operation);
  Lease try_take(std::uint64_t bytes, Purpose purpose);
  // The largest lease between least and most that fits now without evicting; empty if not even least does.
  Lease try_take_between(std::uint64_t least, std::uint64_t most, Purpose purpose);

  std::uint64_t limit_bytes() const;
  std::uint64_t set_limit(std::uint64_t bytes, std::string source);  // returns the previous limit
  std::string source() const;
  std::uint64_t spare_bytes() const;  // limit less held; 0 when a lowered limit is overdrawn
  Usage usage() const;
  void reset_peak();

  void add_evictable(
      Evictable* evictable);  // asked, in order, before take() waits or refuses; for the life of the budget

  void lock_for_fork();
  void unlock_after_fork(bool in_child);

 private:
  friend class Lease;
  bool grant(std::uint64_t bytes, Purpose purpose);  // REQUIRES: lock held
  std::uint64_t evict(std::uint64_t bytes);          // REQUIRES: lock not held
  void give_back(std::uint64_t bytes, Purpose purpose) noexcept;
  void move_between(std::uint64_t bytes, Purpose from, Purpose to) noexcept;
  [[noreturn]] void refuse(std::uint64_t bytes, std::string_view operation) const;

  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::uint64_t limit_bytes_;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t returned_bytes_ = 0;  // all that was ever given back
  std::uint64_t peak_bytes_ = 0;
  std::uint64_t lost_bytes_ = 0;  // in a forked child: transient bytes of threads that are not here
  std::array<std::uint64_t, purpose_count> by_purpose_{};
  std::string source_;
  std::vector<Evictable*> evictables_;
};

}  // namespace lowtide
