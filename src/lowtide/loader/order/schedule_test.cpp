#include "lowtide/loader/order/schedule.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <vector>

namespace lowtide {
namespace {

ScheduleOptions random_options(std::mt19937_64& random) {
  const auto from = [&](std::uint64_t least, std::uint64_t most) { return least + random() % (most - least + 1); };
  ScheduleOptions options;
  options.sample_count = from(1, 60);
  options.epochs = from(1, 3);
  options.batch = from(1, 9);
  options.world = from(1, 5);
  options.drop_last = random() % 2 == 0 && *options.epochs * options.sample_count >= options.batch * options.world;
  return options;
}

// All ranks' samples of a loop from a position on, step by step in the order of ranks.
std::vector<std::uint64_t> walk_all_ranks(ScheduleOptions options, std::uint64_t position, std::uint64_t most_steps,
                                          std::uint64_t& stopped_at) {
  std::vector<std::uint64_t> seen;
  for (std::uint64_t steps = 0; steps < most_steps; ++steps) {
    Step step;
    for (options.rank = 0; options.rank < options.world; ++options.rank) {
      step = Schedule(options).step(position);
      for (std::uint64_t at = step.begin; at < step.end; ++at) seen.push_back(at);
    }
    position = step.next;
    if (step.ends_loop) break;
  }
  stopped_at = position;
  return seen;
}

std::vector<std::uint64_t> positions(std::uint64_t begin, std::uint64_t end) {
  std::vector<std::uint64_t> all;
  for (; begin < end; ++begin) all.push_back(begin);
  return all;
}

TEST(Schedule, RanksTogetherTakeTheStreamInOrder) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const ScheduleOptions options = random_options(random);
    const std::uint64_t loop = *options.epochs * options.sample_count;
    std::uint64_t end = 0;
    const auto seen = walk_all_ranks(options, 0, 1000, end);
    EXPECT_EQ(end, loop);
    const std::uint64_t together = options.batch * options.world;
    EXPECT_EQ(seen, positions(0, options.drop_last ? loop / together * together : loop));
  }
}

TEST(Schedule, AStreamGoesOnWithAnotherWorldAndBatch) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    ScheduleOptions options = random_options(random);
    options.drop_last = false;
    std::uint64_t stopped = 0;
    auto seen = walk_all_ranks(options, 0, random() % 4, stopped);
    const std::uint64_t loop = *options.epochs * options.sample_count;
    if (stopped < loop) {
      options.batch = 1 + random() % 7;
      options.world = 1 + random() % 4;
      const auto rest = walk_all_ranks(options, stopped, 1000, stopped);
      seen.insert(seen.end(), rest.begin(), rest.end());
    }
    EXPECT_EQ(seen, positions(0, loop));
  }
}

TEST(Schedule, WorkersTakeARanksStepsInTurn) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 500; ++i) {
    ScheduleOptions options = random_options(random);
    options.rank = random() % options.world;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> alone, together;
    for (std::uint64_t position = 0;;) {
      const Step step = Schedule(options).step(position);
      if (step.begin < step.end) alone.emplace_back(step.begin, step.end);
      position = step.next;
      if (step.ends_loop) break;
    }
    options.worker_count = 1 + random() % 4;
    for (std::uint64_t position = 0, rounds = 0; rounds < 1000; ++rounds) {
      Step step;
      for (options.worker = 0; options.worker < options.worker_count; ++options.worker) {
        step = Schedule(options).step(position);
        if (step.begin < step.end) together.emplace_back(step.begin, step.end);
      }
      position = step.next;
      if (step.ends_loop) break;
    }
    EXPECT_EQ(alone, together);
  }
}

TEST(Schedule, TheNextLoopBeginsWhereTheLastOneEnded) {
  const Schedule schedule({.sample_count = 10, .epochs = 1, .batch = 4});
  EXPECT_TRUE(schedule.step(8).ends_loop);
  EXPECT_EQ(schedule.step(8).end, 10u);
  const Step first = schedule.step(10);
  EXPECT_EQ(first.begin, 10u);
  EXPECT_EQ(first.end, 14u);
  EXPECT_FALSE(first.ends_loop);
}

TEST(Schedule, WithoutEpochsBatchesRunOnAcrossThem) {
  const Schedule schedule({.sample_count = 10, .batch = 4});
  const Step step = schedule.step(8);
  EXPECT_EQ(step.end, 12u);
  EXPECT_FALSE(step.ends_loop);
}

TEST(Schedule, WhatIsLeftIsSharedEvenly) {
  ScheduleOptions options{.sample_count = 5, .epochs = 1, .batch = 4, .world = 2};
  const Step first = Schedule(options).step(0);
  options.rank = 1;
  const Step second = Schedule(options).step(0);
  EXPECT_EQ(first.end - first.begin, 2u);
  EXPECT_EQ(second.end - second.begin, 3u);
}

TEST(Schedule, WhatCannotBeScheduledIsRefused) {
  EXPECT_THROW(Schedule({.sample_count = 0}), std::invalid_argument);
  EXPECT_THROW(Schedule({.sample_count = 1, .batch = 0}), std::invalid_argument);
  EXPECT_THROW(Schedule({.sample_count = 1, .rank = 2, .world = 2}), std::invalid_argument);
  EXPECT_THROW(Schedule({.sample_count = 1, .epochs = 0}), std::invalid_argument);
  EXPECT_THROW(Schedule({.sample_count = 3, .epochs = 1, .batch = 4, .drop_last = true}), std::invalid_argument);
  EXPECT_THROW(Schedule({.sample_count = 3, .batch = std::uint64_t{1} << 63, .world = 4}), std::invalid_argument);
  EXPECT_THROW(make_schedule({.batch = -1}, 3), std::invalid_argument);
}

}  // namespace
}  // namespace lowtide
