// The batches of a schedule from any position on, loop after loop: what every loader is built around.
//
//   BatchStream stream(maker, schedule);
//   while (std::optional<Delivery> d = stream.next()) …      // nothing at the end of a loop; the next call begins the next loop
//   stream.place();                                           // behind the last batch that was handed out
//   stream.seek(position);                                    // costs nothing, wherever it is
//
// Thread-safe: every member. next(), seek() and stop() by one thread at a time, others wait, interruptible; place() and stats() never wait
// for the disk, so any thread, a signal handler included, may ask in the middle of next(). A forked child goes on where its parent stood.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "lowtide/base/fork.h"
#include "lowtide/base/turn.h"
#include "lowtide/loader.h"
#include "lowtide/loader/prefetch/batch.h"
#include "lowtide/loader/prefetch/prefetch.h"

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
  // A new loop: goes on where the last one stopped, and behind its end if all its batches were taken.
  void begin_loop();
  std::optional<std::uint64_t> batches_left() const;
  // Behind the last batch that was handed out, or `ahead` batches further on.
  StreamPlace place(std::uint64_t ahead = 0) const;
  void seek(std::uint64_t position, bool loop_ended = false);  // forgets what was made ahead
  void stop();                                                 // gives all memory back; next() starts again
  LoaderStats stats() const;

 private:
  std::optional<Delivery> hand_out(Delivery delivery);
  Prefetch& running();
  void drop() noexcept;  // REQUIRES: the turn

  Turn turn_;                                  // who may change prefetch_, and wait
  mutable ForkMutex mutex_{ForkRank::stream};  // guards what is below; never held across a wait
  std::shared_ptr<BatchMaker> maker_;
  Schedule schedule_;
  StreamPlace place_;
  std::chrono::steady_clock::time_point last_batch_{};  // or the first call
  LoaderStats past_;                                    // of prefetchers that are gone; all counts
  std::unique_ptr<Prefetch> prefetch_;
};

}  // namespace lowtide
