#include "lowtide/loader/tokens/window_grid.h"

#include <gtest/gtest.h>

#include <set>

namespace lowtide {
namespace {

std::vector<std::uint64_t> begins(const WindowGrid& grid, std::uint64_t epoch) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t sample = 0; sample < grid.count(); ++sample) all.push_back(grid.begin(sample, grid.phase(epoch)));
  return all;
}

TEST(WindowGrid, TheFirstEpochBeginsAtTheFirstToken) {
  const WindowGrid grid({{0, 47}}, {.window = 10, .stride = 10, .moving_seed = 3});
  EXPECT_EQ(begins(grid, 0), (std::vector<std::uint64_t>{0, 10, 20, 30}));
}

TEST(WindowGrid, EveryTokenButTheFirstIsATargetInSomeEpoch) {
  for (const std::uint64_t tokens : {40u, 41u, 47u, 49u, 10u, 13u}) {
    const WindowGrid grid({{0, tokens}}, {.window = 10, .stride = 10, .moving_seed = 5});
    std::set<std::uint64_t> targets;
    for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
      for (const std::uint64_t begin : begins(grid, epoch)) {
        ASSERT_LE(begin + 10, tokens);
        for (std::uint64_t token = begin + 1; token < begin + 10; ++token) targets.insert(token);
      }
    }
    EXPECT_EQ(targets.size(), tokens - 1) << tokens;
  }
}

TEST(WindowGrid, EveryPhaseComesOnceBeforeOneComesAgain) {
  const WindowGrid grid({{0, 5000}}, {.window = 100, .stride = 99, .moving_seed = 1});
  std::set<std::uint64_t> phases;
  for (std::uint64_t epoch = 0; epoch < 99; ++epoch) phases.insert(grid.phase(epoch));
  EXPECT_EQ(phases.size(), 99u);
  EXPECT_EQ(*phases.rbegin(), 98u);
  EXPECT_EQ(grid.phase(99), grid.phase(0));
}

TEST(WindowGrid, AGridThatDoesNotMoveIsTheSameInEveryEpoch) {
  const WindowGrid grid({{0, 47}}, {.window = 10, .stride = 7});
  EXPECT_EQ(begins(grid, 5), (std::vector<std::uint64_t>{0, 7, 14, 21, 28, 35}));
}

TEST(WindowGrid, WindowsStayWithinTheirSpans) {
  const WindowGrid grid({{5, 30}, {40, 48}, {100, 121}}, {.window = 10, .stride = 10, .moving_seed = 2});
  EXPECT_EQ(begins(grid, 0), (std::vector<std::uint64_t>{5, 15, 100, 110}));
  for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
    for (const std::uint64_t begin : begins(grid, epoch))
      EXPECT_TRUE((begin >= 5 && begin + 10 <= 30) || (begin >= 100 && begin + 10 <= 121)) << begin;
  }
}

TEST(TokenSpans, HolesAreTakenOut) {
  const auto left = without({{0, 100}}, {{20, 30}, {90, 200}, {25, 40}, {50, 50}});
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].begin, 0u);
  EXPECT_EQ(left[0].end, 20u);
  EXPECT_EQ(left[1].begin, 40u);
  EXPECT_EQ(left[1].end, 90u);
}

}  // namespace
}  // namespace lowtide
