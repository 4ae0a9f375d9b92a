// What a prefetcher's thread, its consumer and the batches in the consumer's hands share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lowtide/base/fork.h"
#include "lowtide/loader/prefetch/batch.h"
#include "lowtide/memory/block.h"

namespace lowtide {

struct PrefetchState {
  // A batch in line. The thread fills `batch` while `ready` is false, nobody touches it but the consumer afterwards.
  struct Place {
    Batch batch;
    bool ready = false;
    std::exception_ptr error;
  };

  explicit PrefetchState(const MakerTraits& traits);
  PrefetchState(const PrefetchState&) = delete;
  PrefetchState& operator=(const PrefetchState&) = delete;

  static constexpr std::size_t most_kept = 64;

  // REQUIRES, all of them: lock held.
  bool has_room() const;
  bool has_block(std::uint64_t bytes) const;
  Block reuse(std::uint64_t bytes);
  void keep(Block block, std::vector<Block>& unwanted) noexcept;
  void count(Block& block);           // a new one, which is pinned if it is to be
  void discount(const Block& block);  // one that goes

  void come_back(Block block) noexcept;  // from the consumer; lock not held

  bool try_lock_for_fork() { return mutex.try_lock(); }
  void unlock_after_fork(bool /*in_child*/) { mutex.unlock(); }
  void forget();  // in a forked child, which has not the thread: all memory but the consumer's

  mutable std::mutex mutex;
  std::condition_variable work;   // the thread waits: for room, or the end
  std::condition_variable ready;  // the consumer waits: for the front of the line
  std::deque<std::unique_ptr<Place>> line;
  std::vector<Block> kept;  // the last to come back is used first: it is still in the processor's cache
  Block staging;            // slots of the reads
  std::uint64_t slot_bytes = 0;
  std::uint64_t slots_bytes = 0;  // of staging, that may be used: half of it where the page cache holds the other half
  std::uint64_t line_bytes = 0;   // of blocks in the line
  std::uint64_t most_line_bytes = 0;
  std::size_t most_ahead;           // batches in line, ever
  std::size_t target;               // and now
  bool reading = false;             // the thread waits for the disk
  std::uint64_t starved_bytes = 0;  // what the thread needs and the budget does not spare
  std::atomic<bool> consumer_waits{false};
  bool sleeping = false;
  bool stop = false;
  std::exception_ptr broken;  // what ended the thread before its time
  const bool pin;
  std::uint64_t held_bytes = 0, peak_bytes = 0, pinned_bytes = 0;
  double waited_on_disk_s = 0, waited_on_consumer_s = 0;
  std::optional<ForkEntry> entry;  // once all of the above is there
};

// The consumer's claim on a block: it comes back when the last copy is gone.
std::shared_ptr<void> lend(const std::shared_ptr<PrefetchState>& state, Block block);

}  // namespace lowtide
