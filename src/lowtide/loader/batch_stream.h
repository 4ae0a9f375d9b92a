// The batches of a schedule from any position on, loop after loop: what every loader is built around.
//
//   BatchStream stream(maker, schedule);
//   while (std::optional<Delivery> d = stream.next()) …      // nothing at the end of a loop; the next call begins the next loop
//   stream.place();                                           // behind the last batch that was handed out
//   stream.seek(position);                                    // costs nothing, wherever it is
//
// Thread-safe: every member; next() by one thread at a time, others wait. A forked child goes on where its parent stood.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "lowtide/loader.h"
#include "lowtide/loader/batch.h"
#include "lowtide/loader/prefetch.h"

namespace lowtide {

// What two streams of one loader came to; the peak is that of one of them.
void add(LoaderStats& sum, const LoaderStats& stats);

class BatchStream {
 public:
  BatchStream(std::shared_ptr<BatchMaker> maker, const Schedule& schedule)
      : maker_(std::move(maker)), schedule_(schedule) {}
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  std::optional<Delivery> next();
  // Behind the last batch that was handed out, or `ahead` batches further on.
  StreamPlace place(std::uint64_t ahead = 0) const;
  void seek(std::uint64_t position, bool loop_ended = false);  // forgets what was made ahead
  void stop();                                                 // gives all memory back; next() starts again
  LoaderStats stats() const;

 private:
  void drop() noexcept;  // REQUIRES: lock held

  mutable std::mutex mutex_;
  std::shared_ptr<BatchMaker> maker_;
  Schedule schedule_;
  StreamPlace place_;
  std::chrono::steady_clock::time_point last_batch_{};  // or the first call
  LoaderStats past_;                                    // of prefetchers that are gone; all counts
  std::unique_ptr<Prefetch> prefetch_;
};

}  // namespace lowtide
