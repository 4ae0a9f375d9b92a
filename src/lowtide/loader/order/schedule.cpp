#include "lowtide/loader/order/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "lowtide/base/checked.h"

namespace lowtide {

Schedule::Schedule(const ScheduleOptions& options) : options_(options) {
  const auto refuse = [](const std::string& text) { throw std::invalid_argument(text); };
  if (options.sample_count == 0) refuse("there is not one sample to load");
  if (options.batch == 0) refuse("batch must be at least 1");
  if (options.world == 0) refuse("world must be at least 1");
  if (options.rank >= options.world)
    refuse(fmt::format("rank must be from 0 to {}, but it is {}", options.world - 1, options.rank));
  if (options.worker >= options.worker_count)
    refuse(fmt::format("worker {} of {} does not exist", options.worker, options.worker_count));
  if (options.epochs == 0) refuse("epochs must be at least 1, or None for no end");
  const auto together = checked_multiply(options.batch, options.world);
  if (!together || *together > std::uint64_t{1} << 62) refuse("batch times world is too large");
  if (!options.epochs) return;
  const auto loop = checked_multiply(*options.epochs, options.sample_count);
  if (!loop || *loop > std::uint64_t{1} << 62) refuse("epochs times samples is too large: use epochs=None for no end");
  if (options.drop_last && *loop < *together)
    refuse(fmt::format("drop_last leaves nothing: a step takes {} samples (batch {} x world {}), and there are {}",
                       *together, options.batch, options.world, *loop));
}

// The first end of a loop behind a position.
std::uint64_t Schedule::loop_end(std::uint64_t position) const {
  if (!options_.epochs) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t loop = *options_.epochs * options_.sample_count;
  return (position / loop + 1) * loop;
}

// What all ranks take together.
Step Schedule::global_step(std::uint64_t position) const {
  const std::uint64_t together = options_.batch * options_.world;
  const std::uint64_t end = loop_end(position);
  Step step{position, position + std::min(together, end - position), 0, false};
  step.next = step.end;
  // What is left behind it may be too little for another step.
  if (step.next < end && options_.drop_last && end - step.next < together) step.next = end;
  step.ends_loop = step.next == end;
  return step;
}

Step Schedule::step(std::uint64_t position) const {
  Step mine{position, position, position, false};
  for (std::uint64_t turn = 0; turn < options_.worker_count && !mine.ends_loop; ++turn) {
    const Step all = global_step(mine.next);
    mine.next = all.next;
    mine.ends_loop = all.ends_loop;
    if (turn != options_.worker) continue;
    const std::uint64_t count = all.end - all.begin;
    // The last samples of a loop are shared evenly, so that as few ranks as possible go without.
    const bool full = count == options_.batch * options_.world;
    const auto bound = [&](std::uint64_t rank) {
      return all.begin + (full ? rank * options_.batch : multiply_divide(count, rank, options_.world));
    };
    mine.begin = bound(options_.rank);
    mine.end = bound(options_.rank + 1);
  }
  return mine;
}

StreamPlace Schedule::after(StreamPlace place, std::uint64_t step_count) const {
  for (; step_count > 0; --step_count) {
    const Step taken = step(place.position);
    place = {taken.next, taken.ends_loop};
  }
  return place;
}

std::optional<std::uint64_t> Schedule::batches_left(StreamPlace place) const {
  if (!options_.epochs) return std::nullopt;
  if (place.loop_ended) return 0;
  const std::uint64_t together = options_.batch * options_.world;
  const std::uint64_t left = loop_end(place.position) - place.position;
  const std::uint64_t rest = left % together;
  const bool part_of_rest =
      multiply_divide(rest, options_.rank, options_.world) != multiply_divide(rest, options_.rank + 1, options_.world);
  const std::uint64_t steps = left / together + (!options_.drop_last && part_of_rest ? 1 : 0);
  return steps / options_.worker_count + (steps % options_.worker_count > options_.worker ? 1 : 0);
}

StreamPlace Schedule::loop_begin(StreamPlace place) const {
  if (place.loop_ended || !options_.epochs) return {place.position, false};
  const bool begun = place.position % (*options_.epochs * options_.sample_count) != 0;
  // Of its last samples this rank has no part, and whoever counted its batches did not come to hear so.
  if (begun && batches_left(place) == 0) return {loop_end(place.position), false};
  return place;
}

Schedule make_schedule(const LoaderShare& share, std::uint64_t sample_count) {
  const auto at_least = [](std::int64_t value, std::int64_t least, const char* what) {
    if (value < least)
      throw std::invalid_argument(fmt::format("{} must be at least {}, but it is {}", what, least, value));
    return static_cast<std::uint64_t>(value);
  };
  ScheduleOptions options;
  options.sample_count = sample_count;
  if (share.epochs) options.epochs = at_least(*share.epochs, 1, "epochs");
  options.batch = at_least(share.batch, 1, "batch");
  options.rank = at_least(share.rank, 0, "rank");
  options.world = at_least(share.world, 1, "world");
  options.worker = at_least(share.worker, 0, "worker");
  options.worker_count = at_least(share.worker_count, 1, "worker_count");
  options.drop_last = share.drop_last;
  return Schedule(options);
}

}  // namespace lowtide
