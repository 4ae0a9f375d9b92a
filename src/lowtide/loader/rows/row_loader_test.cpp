// The promises of a loader of rows, for every kind of shuffle.
#include "lowtide/row_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lowtide/error.h"
#include "lowtide/loader/rows/row_test_arrays.h"

namespace lowtide {
namespace {

class RowLoaders : public testing::TestWithParam<Shuffle>, protected RowArrays {
 protected:
  // Windows of 96 rows: small enough for batches to straddle them.
  RowLoaderOptions options(const LoaderShare& share, std::uint64_t seed = 7) const {
    return {
        .share = share, .seed = seed, .shuffle = GetParam(), .window_rows = GetParam() == Shuffle::windowed ? 96u : 0u};
  }
  RowLoader loader(const Array& array, const LoaderShare& share, std::uint64_t seed = 7) const {
    return RowLoader({{array}}, options(share, seed));
  }
  std::mt19937 random_{42};
  std::int64_t random(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
};
INSTANTIATE_TEST_SUITE_P(Every, RowLoaders, testing::Values(Shuffle::none, Shuffle::global, Shuffle::windowed),
                         [](const auto& kind) {
                           return kind.param == Shuffle::none     ? "None"
                                  : kind.param == Shuffle::global ? "Global"
                                                                  : "Windowed";
                         });

TEST_P(RowLoaders, GiveEveryRowOnceAnEpochAndAnotherOrderTheNext) {
  RowLoader rows = loader(counting(1003, 5), {.batch = 32, .epochs = 1});
  const auto first = joined(batches_of(rows));
  const auto second = joined(batches_of(rows));
  EXPECT_EQ(sorted(first), numbers(1003));
  EXPECT_EQ(sorted(second), numbers(1003));
  if (GetParam() == Shuffle::none) {
    EXPECT_EQ(first, numbers(1003));
    EXPECT_EQ(second, first);
  } else {
    EXPECT_NE(first, numbers(1003));
    EXPECT_NE(second, first);
  }
}

TEST_P(RowLoaders, GiveTheValuesOfTheRowsTheyName) {
  RowLoader rows(
      {{counting(1003, 5)}, {counting<double>(1003, 300, "y.bin")}, {counting<std::uint8_t>(1003, 1, "z.bin")}},
      options({.batch = 37, .epochs = 2}));
  std::size_t seen = 0;
  while (auto batch = rows.next()) {
    const auto count = static_cast<std::int64_t>(batch->rows.size());
    ASSERT_EQ(batch->columns.size(), 3u);
    ASSERT_EQ(batch->columns[0].shape(), (Shape{count, 5}));
    ASSERT_EQ(batch->columns[1].shape(), (Shape{count, 300}));
    for (const Buffer& column : batch->columns) {
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(column.data()) % 64, 0u);
      ASSERT_EQ(column.owner(), batch->columns[0].owner());
    }
    for (std::size_t i = 0; i < batch->rows.size(); ++i, ++seen) {
      const auto row = batch->rows[i];
      for (std::size_t j = 0; j < 5; ++j)
        ASSERT_EQ(batch->columns[0].as<std::int32_t>()[i * 5 + j], static_cast<std::int32_t>(row * 5 + j));
      for (std::size_t j = 0; j < 300; ++j)
        ASSERT_EQ(batch->columns[1].as<double>()[i * 300 + j], static_cast<double>(row * 300 + j));
      ASSERT_EQ(batch->columns[2].as<std::uint8_t>()[i], static_cast<std::uint8_t>(row));
    }
  }
  EXPECT_EQ(seen, 2006u);
}

TEST_P(RowLoaders, ShareOneStreamBetweenRanks) {
  const Array array = counting(997, 3);
  RowLoader alone = loader(array, {.batch = 1, .epochs = 2});
  const auto stream = joined(batches_of(alone));
  for (int trial = 0; trial < 6; ++trial) {
    const std::int64_t world = random(1, 5), batch = random(1, 70);
    SCOPED_TRACE("world " + std::to_string(world) + ", batch " + std::to_string(batch));
    std::vector<std::vector<std::vector<std::uint64_t>>> ranks;
    std::size_t steps = 0;
    for (std::int64_t rank = 0; rank < world; ++rank) {
      RowLoader rows = loader(array, {.batch = batch, .rank = rank, .world = world, .epochs = 2});
      ranks.push_back(batches_of(rows));
      steps = std::max(steps, ranks.back().size());
    }
    std::vector<std::uint64_t> together;
    for (std::size_t step = 0; step < steps; ++step) {
      for (const auto& rank : ranks) {
        if (step < rank.size()) together.insert(together.end(), rank[step].begin(), rank[step].end());
      }
    }
    EXPECT_EQ(together, stream);
  }
}

TEST_P(RowLoaders, GoOnFromAStateAsIfNothingHadHappened) {
  const Array array = counting(501, 4);
  RowLoader alone = loader(array, {.batch = 1, .epochs = 3});
  const auto stream = joined(batches_of(alone));
  for (int trial = 0; trial < 8; ++trial) {
    const std::int64_t batch = random(1, 60);
    RowLoader before = loader(array, {.batch = batch, .epochs = 3});
    const auto seen = joined(batches_of(before, static_cast<std::size_t>(random(0, 1400 / batch))));
    const RowLoaderState state = before.state();
    EXPECT_EQ(state.position, seen.size());
    RowLoader after = loader(array, {.batch = random(1, 60), .epochs = 3}, 99);
    batches_of(after, static_cast<std::size_t>(random(0, 3)));
    after.load(state);
    const auto rest = joined(batches_of(after));
    EXPECT_EQ(rest,
              std::vector<std::uint64_t>(stream.begin() + static_cast<std::ptrdiff_t>(seen.size()), stream.end()));
  }
}

TEST_P(RowLoaders, GoOnInAnotherWorld) {
  const Array array = counting(800, 4);
  RowLoader alone = loader(array, {.batch = 1, .epochs = 1});
  const auto stream = joined(batches_of(alone));
  RowLoader first = loader(array, {.batch = 10, .rank = 1, .world = 4, .epochs = 1});
  batches_of(first, 7);
  const RowLoaderState state = first.state();
  EXPECT_EQ(state.position, 280u);
  std::vector<std::uint64_t> together;
  RowLoader a = loader(array, {.batch = 26, .rank = 0, .world = 2, .epochs = 1});
  RowLoader b = loader(array, {.batch = 26, .rank = 1, .world = 2, .epochs = 1});
  a.load(state);
  b.load(state);
  const auto left = batches_of(a), right = batches_of(b);
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    together.insert(together.end(), left[i].begin(), left[i].end());
    together.insert(together.end(), right[i].begin(), right[i].end());
  }
  EXPECT_EQ(together, std::vector<std::uint64_t>(stream.begin() + 280, stream.end()));
}

TEST_P(RowLoaders, TakeTurnsBetweenTheWorkersOfARank) {
  const Array array = counting(300, 4);
  RowLoader alone = loader(array, {.batch = 16, .epochs = 1});
  const auto all = batches_of(alone);
  RowLoader even = loader(array, {.batch = 16, .worker = 0, .worker_count = 2, .epochs = 1});
  RowLoader odd = loader(array, {.batch = 16, .worker = 1, .worker_count = 2, .epochs = 1});
  const auto evens = batches_of(even), odds = batches_of(odd);
  ASSERT_EQ(evens.size() + odds.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], (i % 2 == 0 ? evens : odds)[i / 2]);
}

TEST_P(RowLoaders, KnowTheStateThatComingBatchesLeadTo) {
  const Array array = counting(500, 4);
  RowLoader rows = loader(array, {.batch = 32, .epochs = 1});
  batches_of(rows, 3);
  const RowLoaderState ahead = rows.state(5);
  batches_of(rows, 5);
  const RowLoaderState then = rows.state();
  EXPECT_EQ(ahead.position, then.position);
  EXPECT_EQ(ahead.loop_ended, then.loop_ended);
}

TEST_P(RowLoaders, RememberThatALoopEnded) {
  const Array array = counting(64, 4);
  RowLoader rows = loader(array, {.batch = 32, .epochs = 1});
  batches_of(rows, 2);
  const RowLoaderState state = rows.state();
  EXPECT_TRUE(state.loop_ended);
  RowLoader after = loader(array, {.batch = 32, .epochs = 1});
  after.load(state);
  EXPECT_FALSE(after.next());
  EXPECT_EQ(joined(batches_of(after)).size(), 64u);
  EXPECT_FALSE(rows.next());
}

TEST_P(RowLoaders, EndWithASmallBatchOrLeaveItOut) {
  const Array array = counting(100, 4);
  RowLoader all = loader(array, {.batch = 32, .epochs = 1});
  const auto batches = batches_of(all);
  ASSERT_EQ(batches.size(), 4u);
  EXPECT_EQ(batches.back().size(), 4u);
  RowLoader full = loader(array, {.batch = 32, .epochs = 1, .drop_last = true});
  for (int loop = 0; loop < 2; ++loop) {
    const auto whole = batches_of(full);
    ASSERT_EQ(whole.size(), 3u);
    for (const auto& batch : whole) EXPECT_EQ(batch.size(), 32u);
  }
}

TEST_P(RowLoaders, ChangeTheirShareFromWhereTheyStand) {
  const Array array = counting(400, 4);
  RowLoader alone = loader(array, {.batch = 1, .epochs = 1});
  const auto stream = joined(batches_of(alone));
  RowLoader rows = loader(array, {.batch = 32, .epochs = 1});
  auto seen = joined(batches_of(rows, 3));
  rows.set_share({.batch = 7, .epochs = 1});
  const auto rest = joined(batches_of(rows));
  seen.insert(seen.end(), rest.begin(), rest.end());
  EXPECT_EQ(seen, stream);
  EXPECT_EQ(rows.options().share.batch, 7);
  EXPECT_EQ(rows.stats().sample_count, 400u);
}

TEST_P(RowLoaders, GoOnAfterAStop) {
  const Array array = counting(400, 4);
  RowLoader alone = loader(array, {.batch = 1, .epochs = 1});
  const auto stream = joined(batches_of(alone));
  RowLoader rows = loader(array, {.batch = 32, .epochs = 1});
  auto seen = joined(batches_of(rows, 5));
  alone.stop();
  rows.stop();
  EXPECT_EQ(firmly_held_bytes(), 0u);
  const auto rest = joined(batches_of(rows));
  seen.insert(seen.end(), rest.begin(), rest.end());
  EXPECT_EQ(seen, stream);
}

TEST_P(RowLoaders, HoldNothingWhenTheyAreGone) {
  const Array array = counting(5000, 40);
  std::optional<RowBatch> kept;
  {
    RowLoader rows = loader(array, {.batch = 64});
    for (int i = 0; i < 40; ++i) kept = rows.next();
    EXPECT_GT(rows.stats().held_bytes, 0u);
    EXPECT_EQ(rows.stats().batch_count, 40u);
  }
  EXPECT_EQ(kept->columns[0].as<std::int32_t>()[0], static_cast<std::int32_t>(kept->rows[0] * 40));
  EXPECT_GT(firmly_held_bytes(), 0u);
  kept.reset();
  EXPECT_EQ(firmly_held_bytes(), 0u);
}

TEST_P(RowLoaders, StayWithinTheBudget) {
  const Array array = counting(20'000, 64);
  for (const std::uint64_t limit : {std::uint64_t{2_MiB}, std::uint64_t{8_MiB}}) {
    const BudgetScope scope(limit);
    RowLoaderOptions from_budget = options({.batch = 512, .epochs = 1});
    from_budget.window_rows = 0;
    reset_peak();
    RowLoader rows({{array}}, from_budget);
    EXPECT_EQ(sorted(joined(batches_of(rows))), numbers(20'000));
    EXPECT_LE(usage().peak_bytes, limit);
  }
}

TEST_P(RowLoaders, RefuseABatchThatDoesNotFitBeforeTheyReadAnything) {
  const Array array = counting(20'000, 64);
  const BudgetScope scope(std::uint64_t{1_MiB});
  RowLoader rows = loader(array, {.batch = 8192});
  EXPECT_THROW(rows.next(), BudgetError);
  EXPECT_EQ(firmly_held_bytes(), 0u);
  EXPECT_EQ(rows.stats().batch_count, 0u);
  rows.set_share({.batch = 512});
  EXPECT_EQ(rows.next()->rows.size(), 512u);
}

TEST_P(RowLoaders, GoOnWhenTheConsumerHasRoomAgain) {
  const Array array = counting(4000, 64);
  RowLoader alone = loader(array, {.batch = 1, .epochs = 1});
  const auto stream = joined(batches_of(alone));
  alone.stop();
  const BudgetScope scope(std::uint64_t{1_MiB});
  RowLoader rows = loader(array, {.batch = 256, .epochs = 1});
  std::vector<RowBatch> kept;
  std::vector<std::uint64_t> seen;
  const auto keep = [&] {
    for (auto batch = rows.next(); batch; batch = rows.next()) {
      seen.insert(seen.end(), batch->rows.begin(), batch->rows.end());
      kept.push_back(std::move(*batch));
    }
  };
  for (bool done = false; !done;) {
    try {
      keep();
      done = true;
    } catch (const BudgetError&) {
      ASSERT_GE(kept.size(), 2u);
      kept.clear();
    }
  }
  EXPECT_EQ(seen, stream);
}

TEST_P(RowLoaders, RefuseAStateOfOtherData) {
  const Array array = counting(500, 4);
  RowLoader rows = loader(array, {.batch = 32});
  RowLoaderState state = rows.state();
  RowLoader copy = loader(counting(500, 4, "copy.bin"), {.batch = 32});
  copy.load(state);
  RowLoader longer = loader(counting(501, 4, "longer.bin"), {.batch = 32});
  EXPECT_THROW(longer.load(state), DataChangedError);
  std::vector<std::int32_t> other(2000, 1);
  RowLoader changed = loader(raw("other.bin", other, {500, 4}), {.batch = 32});
  EXPECT_THROW(changed.load(state), DataChangedError);
  state.shuffle = Shuffle::automatic;
  EXPECT_THROW(rows.load(state), std::invalid_argument);
}

TEST_P(RowLoaders, RefuseSharesThatCannotBe) {
  const Array array = counting(500, 4);
  EXPECT_THROW(loader(array, {.batch = 0}), std::invalid_argument);
  EXPECT_THROW(loader(array, {.batch = 4, .rank = 2, .world = 2}), std::invalid_argument);
  EXPECT_THROW(loader(array.index({Slice{0, 0}}), {.batch = 4}), std::invalid_argument);
  RowLoader rows = loader(array, {.batch = 4});
  EXPECT_THROW(rows.set_share({.batch = -1}), std::invalid_argument);
  EXPECT_EQ(rows.next()->rows.size(), 4u);
}

using WindowedRowLoaders = RowLoaders;
INSTANTIATE_TEST_SUITE_P(Only, WindowedRowLoaders, testing::Values(Shuffle::windowed));

TEST_P(WindowedRowLoaders, TakeTheirWindowsFromTheStateAndReadRowByRowWhereTheyDoNotFit) {
  const Array array = counting(40'000, 64);
  RowLoaderOptions wide = options({.batch = 100, .epochs = 1});
  wide.window_rows = 20'000;
  RowLoader before({{array}}, wide);
  const auto seen = joined(batches_of(before, 30));
  const RowLoaderState state = before.state();
  EXPECT_EQ(state.window_rows, 20'000u);
  const auto rest = joined(batches_of(before));
  before.stop();

  RowLoader after = loader(array, {.batch = 64, .epochs = 1});
  {
    const BudgetScope scope(std::uint64_t{8_MiB});
    after.load(state);
    EXPECT_EQ(joined(batches_of(after)), rest);
    EXPECT_LE(after.stats().peak_bytes, 8_MiB);
  }
  after.load(state);
  EXPECT_EQ(after.shuffle().window_rows, 20'000u);
  EXPECT_EQ(joined(batches_of(after)), rest);
}

TEST_P(WindowedRowLoaders, HoldTwoWindowsAndNoMore) {
  const Array array = counting(200'000, 16);
  RowLoaderOptions wide = options({.batch = 100, .epochs = 1});
  wide.window_rows = 32'768;  // 2 MiB
  RowLoader rows({{array}}, wide);
  batches_of(rows);
  EXPECT_LE(rows.stats().peak_bytes, 2 * 2_MiB + 2 * 2048 * 64 + 16_MiB + 1_MiB);
  EXPECT_GE(rows.stats().peak_bytes, 2 * 2_MiB);
}

}  // namespace
}  // namespace lowtide
