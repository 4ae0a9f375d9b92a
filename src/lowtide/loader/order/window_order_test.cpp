#include "lowtide/loader/order/window_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <stdexcept>

namespace lowtide {
namespace {

// Row by row, and the run of each.
std::vector<std::uint64_t> epoch_of(const WindowOrder& order, std::uint64_t epoch) {
  std::vector<std::uint64_t> rows, places;
  for (std::uint64_t i = 0; i < order.window_count(); ++i) {
    const Window window = order.window(epoch * order.window_count() + i);
    const auto runs = order.runs(window);
    order.mix(window, window.begin, window.end, places);
    for (const std::uint64_t place : places)
      rows.push_back(runs[place / order.options().run_rows].first + place % order.options().run_rows);
  }
  return rows;
}

TEST(WindowOrder, HasEveryRowOnceAnEpochWhateverTheSizes) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const std::uint64_t rows = 1 + random() % 700;
    const std::uint64_t run = 1 + random() % rows;
    const std::uint64_t window = run + random() % (2 * rows);
    const WindowOrder order({rows, run, window, random()});
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      auto all = epoch_of(order, epoch);
      std::sort(all.begin(), all.end());
      ASSERT_EQ(all.size(), rows);
      for (std::uint64_t i = 0; i < rows; ++i)
        ASSERT_EQ(all[i], i) << rows << " rows, runs " << run << ", windows " << window;
    }
  }
}

TEST(WindowOrder, KnowsTheWindowOfEveryPosition) {
  std::mt19937 random(6);
  for (int trial = 0; trial < 100; ++trial) {
    const std::uint64_t rows = 1 + random() % 500;
    const std::uint64_t run = 1 + random() % rows;
    const WindowOrder order({rows, run, run + random() % rows, 1});
    std::uint64_t end = 0;
    for (std::uint64_t number = 0; number < 3 * order.window_count(); ++number) {
      const Window window = order.window(number);
      ASSERT_EQ(window.begin, end);
      ASSERT_LT(window.begin, window.end);
      ASSERT_LE(window.row_count(), order.most_window_rows());
      ASSERT_LE(window.row_count() - window.tail_rows, order.options().window_rows);
      end = window.end;
      for (std::uint64_t position = window.begin; position < end; ++position)
        ASSERT_EQ(order.window_at(position), number);
    }
    EXPECT_EQ(end, 3 * rows);
  }
}

TEST(WindowOrder, MixesTheRunsOfAWindowAndChangesThemEachEpoch) {
  const WindowOrder order({100'000, 100, 5'000, 9});
  const auto first = epoch_of(order, 0), second = epoch_of(order, 1);
  EXPECT_NE(first, second);
  // A batch of 256 out of 50 runs leaves out one run in 200 or so.
  for (const auto& epoch : {first, second}) {
    std::set<std::uint64_t> runs;
    for (std::size_t i = 0; i < 256; ++i) runs.insert(epoch[i] / 100);
    EXPECT_GE(runs.size(), 47u);
  }
  std::set<std::uint64_t> early, late;
  for (std::size_t i = 0; i < 5'000; ++i) early.insert(first[i] / 100), late.insert(second[i] / 100);
  std::vector<std::uint64_t> both;
  std::set_intersection(early.begin(), early.end(), late.begin(), late.end(), std::back_inserter(both));
  EXPECT_LT(both.size(), 15u);
}

TEST(WindowOrder, TellsTheOddsOfTheSameRunAsTheyAreCounted) {
  for (const WindowOptions& options : {WindowOptions{50'000, 100, 2'000, 1}, WindowOptions{50'077, 250, 9'000, 2},
                                       WindowOptions{20'000, 500, 20'000, 3}}) {
    const WindowOrder order(options);
    double same = 0;
    constexpr int epochs = 10;
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      const auto rows = epoch_of(order, epoch);
      for (std::size_t i = 1; i < rows.size(); ++i)
        same += rows[i] / options.run_rows == rows[i - 1] / options.run_rows;
    }
    const double pairs = epochs * static_cast<double>(options.row_count - 1);
    EXPECT_NEAR(same / pairs, order.same_run(), 5 * std::sqrt(order.same_run() / pairs));
    EXPECT_GE(order.same_run(), order.ideal_same_run() * 0.999);
  }
  const WindowOrder whole({20'000, 500, 20'000, 3});
  EXPECT_NEAR(whole.same_run(), whole.ideal_same_run(), 1e-12);
}

TEST(WindowOrder, RowsThatAreNoWholeRunAreNotAlwaysInTheLastWindow) {
  const WindowOrder order({10'050, 100, 1'000, 3});
  std::set<std::uint64_t> windows;
  for (std::uint64_t epoch = 0; epoch < 40; ++epoch) {
    const auto rows = epoch_of(order, epoch);
    windows.insert(static_cast<std::uint64_t>(std::find(rows.begin(), rows.end(), 10'049u) - rows.begin()) / 1'000);
  }
  EXPECT_GE(windows.size(), 8u);
}

TEST(WindowOrder, FindsTheRowsOfAnyPositionsWithoutTheirWindows) {
  const WindowOrder order({5'077, 50, 700, 3});
  std::vector<std::uint64_t> rows, expected = epoch_of(order, 0);
  const auto second = epoch_of(order, 1);
  expected.insert(expected.end(), second.begin(), second.end());
  for (const std::uint64_t begin : {0u, 650u, 2'000u, 5'000u}) {
    order.rows(begin, begin + 900, rows);
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), expected.begin() + static_cast<std::ptrdiff_t>(begin)));
    EXPECT_EQ(rows.size(), 900u);
  }
}

TEST(WindowOrder, DependsOnTheSeedAndNothingElse) {
  EXPECT_EQ(epoch_of(WindowOrder({1000, 10, 100, 4}), 3), epoch_of(WindowOrder({1000, 10, 100, 4}), 3));
  EXPECT_NE(epoch_of(WindowOrder({1000, 10, 100, 4}), 3), epoch_of(WindowOrder({1000, 10, 100, 5}), 3));
}

TEST(WindowOrder, RefusesWindowsThatCannotBeMade) {
  EXPECT_THROW(WindowOrder({100, 0, 10, 1}), std::invalid_argument);
  EXPECT_THROW(WindowOrder({100, 101, 200, 1}), std::invalid_argument);
  EXPECT_THROW(WindowOrder({100, 20, 10, 1}), std::invalid_argument);
}

}  // namespace
}  // namespace lowtide
