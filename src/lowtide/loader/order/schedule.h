// Who gets which part of the stream of samples. The stream is one for all: epoch after epoch, in the order of a seed; a step cuts
// batch x world samples off its front, and rank r has the r-th batch of them.
//
//   Schedule schedule({.sample_count = n, .batch = 12, .rank = 1, .world = 4});
//   Step step = schedule.step(position);          // step.begin … step.end are this rank's; step.next is where all ranks go on
//
// A position alone says where everything stands, so batch, world and rank may differ from one run to the next.
//
// Immutable; thread-safe: pure.
#pragma once

#include <cstdint>
#include <optional>

#include "lowtide/loader.h"

namespace lowtide {

struct ScheduleOptions {
  std::uint64_t sample_count = 0;            // of an epoch
  std::optional<std::uint64_t> epochs = {};  // of a loop; without: it never ends
  std::uint64_t batch = 1;
  std::uint64_t rank = 0, world = 1;
  std::uint64_t worker = 0, worker_count = 1;  // processes that take a rank's steps in turn
  bool drop_last = false;
};

struct Step {
  std::uint64_t begin = 0,
                end = 0;  // stream positions; empty where the last samples of a loop are too few for every rank
  std::uint64_t next = 0;
  bool ends_loop = false;
};

class Schedule {
 public:
  // Throws std::invalid_argument for what cannot be scheduled, with the numbers.
  explicit Schedule(const ScheduleOptions& options);
  Step step(std::uint64_t position) const;
  StreamPlace after(StreamPlace place, std::uint64_t step_count) const;
  // Batches of this rank and worker from here to the end of the loop; nothing if it never ends.
  std::optional<std::uint64_t> batches_left(StreamPlace place) const;
  // Where a loop that is begun anew starts: behind the end of one whose batches have all been taken, else where it stands.
  StreamPlace loop_begin(StreamPlace place) const;
  const ScheduleOptions& options() const { return options_; }

 private:
  Step global_step(std::uint64_t position) const;
  std::uint64_t loop_end(std::uint64_t position) const;
  ScheduleOptions options_;
};

// Throws std::invalid_argument as the constructor does.
Schedule make_schedule(const LoaderShare& share, std::uint64_t sample_count);

}  // namespace lowtide
