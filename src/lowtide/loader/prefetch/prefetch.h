// Batches made ahead of their consumer by one thread, with reads of several batches in flight at once.
//
//   Prefetch prefetch(maker, schedule, position);       // BudgetError unless two batches and one read fit
//   std::optional<Delivery> d = prefetch.next();                        // in the order of the schedule
//
// How far ahead: twice as far each time the consumer had to wait for the disk, within a share of the budget; a consumer slower than the
// disk costs two batches of memory and a thread that sleeps. Blocks that the consumer drops are used again.
//
// After fork() a child cannot use its parent's prefetcher: `here()` says so, abandon() gets rid of it.
//
// Not thread-safe, except that deliveries may be dropped on any thread. Blocks: next(), interruptible; the destructor, for reads in
// flight.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "lowtide/base/fork.h"
#include "lowtide/loader/order/schedule.h"
#include "lowtide/loader/prefetch/batch.h"

namespace lowtide {

// A finished batch. Its memory is the consumer's until the last copy of `owner` is gone.
struct Delivery {
  Step step;
  std::shared_ptr<void> owner;
  std::byte* data = nullptr;
  std::vector<std::uint64_t> samples;
  std::vector<std::int64_t> notes;
};

struct PrefetchStats {
  double waited_on_disk_s = 0;      // the consumer, for a batch
  double waited_on_consumer_s = 0;  // the thread, for room
  std::uint64_t held_bytes = 0, peak_bytes = 0, pinned_bytes = 0;
};

struct PrefetchState;
class PrefetchWorker;

class Prefetch {
 public:
  Prefetch(std::shared_ptr<BatchMaker> maker, const Schedule& schedule, std::uint64_t position);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // Throws what making the batch threw, and is spent then; what asking for it threw (BudgetError, an interrupt) may be tried again.
  // Nothing if the process forked meanwhile, and this is the child.
  std::optional<Delivery> next();
  bool spent() const { return spent_; }
  PrefetchStats stats() const;
  bool here() const { return made_.here(); }
  static void abandon(std::unique_ptr<Prefetch> parents) noexcept;

 private:
  bool wait_for_front();
  void feed(std::uint64_t bytes);

  MadeHere made_;
  bool spent_ = false;
  std::shared_ptr<PrefetchState> state_;
  std::unique_ptr<PrefetchWorker> worker_;  // where no thread could be started: next() does the work
  std::thread thread_;
};

}  // namespace lowtide
