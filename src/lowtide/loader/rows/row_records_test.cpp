#include "lowtide/loader/rows/row_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "lowtide/error.h"
#include "lowtide/loader/rows/row_test_arrays.h"

namespace lowtide {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Records : public testing::TestWithParam<Shuffle>, protected RowArrays {
 protected:
  // Lengths from 0 to `longest`, some of them 0; values count up.
  void make(std::size_t count, std::int64_t longest, Endian endian = native_endian) {
    std::mt19937 random(1);
    offsets_ = {0};
    for (std::size_t i = 0; i < count; ++i)
      offsets_.push_back(offsets_.back() + std::uniform_int_distribution<std::int64_t>(0, longest)(random));
    std::vector<std::int32_t> all(static_cast<std::size_t>(offsets_.back()) + 10);
    std::iota(all.begin(), all.end(), 0);
    column_ = {raw("values.bin", all, {-1}, endian), raw("offsets.bin", offsets_, {-1}, endian)};
  }
  RowLoader loader(const RowColumn& column, std::int64_t batch = 37) const {
    return RowLoader({column}, {.share = {.batch = batch, .epochs = 2},
                                .seed = 3,
                                .shuffle = GetParam(),
                                .window_rows = GetParam() == Shuffle::windowed ? 150u : 0u});
  }
  void expect_all(RowLoader loader) {
    std::vector<std::uint64_t> seen;
    while (auto batch = loader.next()) {
      const std::size_t rows = batch->rows.size();
      ASSERT_EQ(batch->offsets[0].size(), static_cast<std::int64_t>(rows) + 1);
      const auto bounds = batch->offsets[0].as<std::int64_t>();
      const auto values = batch->columns[0].as<std::int32_t>();
      ASSERT_EQ(bounds.front(), 0);
      ASSERT_EQ(bounds.back(), static_cast<std::int64_t>(values.size()));
      for (std::size_t i = 0; i < rows; ++i) {
        const std::uint64_t row = batch->rows[i];
        ASSERT_EQ(bounds[i + 1] - bounds[i], offsets_[row + 1] - offsets_[row]);
        for (std::int64_t k = bounds[i]; k < bounds[i + 1]; ++k)
          ASSERT_EQ(values[static_cast<std::size_t>(k)], offsets_[row] + (k - bounds[i]));
      }
      seen.insert(seen.end(), batch->rows.begin(), batch->rows.end());
    }
    ASSERT_EQ(seen.size(), 2 * (offsets_.size() - 1));
    EXPECT_EQ(sorted({seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 2)}),
              numbers(offsets_.size() - 1));
  }
  std::vector<std::int64_t> offsets_;
  RowColumn column_{Array(nullptr), {}};
};
INSTANTIATE_TEST_SUITE_P(Every, Records, testing::Values(Shuffle::none, Shuffle::global, Shuffle::windowed));

TEST_P(Records, AreTheSlicesThatTheirOffsetsName) {
  make(1001, 60);
  expect_all(loader(column_));
}

TEST_P(Records, LongerThanAReadArriveWhole) {
  make(60, 200'000);
  expect_all(loader(column_, 4));
}

TEST_P(Records, WhoseOffsetsAreManyBesideTheBudgetAreLookedUpAhead) {
  make(40'000, 12);
  const BudgetScope scope(std::uint64_t{4_MiB});
  expect_all(loader(column_));
}

TEST_P(Records, OfBigEndianFiles) {
  make(500, 60, Endian::big);
  expect_all(loader(column_));
}

TEST_P(Records, MayHaveOffsetsThatAreAViewOfATable) {
  make(700, 40);
  std::vector<std::int64_t> table;
  for (const std::int64_t offset : offsets_) table.insert(table.end(), {-1, offset, -2});
  column_.offsets = raw("table.bin", table, {-1, 3}).index({Slice{}, std::int64_t{1}});
  expect_all(loader(column_));
}

TEST_P(Records, StandBesideRowsOfOtherArrays) {
  make(300, 40);
  RowLoader rows({column_, {counting(300, 2)}}, {.share = {.batch = 32, .epochs = 1}, .shuffle = GetParam()});
  std::size_t count = 0;
  while (auto batch = rows.next()) {
    ASSERT_EQ(batch->offsets.size(), 2u);
    EXPECT_EQ(batch->offsets[1].data(), nullptr);
    for (std::size_t i = 0; i < batch->rows.size(); ++i, ++count)
      ASSERT_EQ(batch->columns[1].as<std::int32_t>()[2 * i], static_cast<std::int32_t>(2 * batch->rows[i]));
  }
  EXPECT_EQ(count, 300u);
}

TEST_P(Records, ThatDescendOrLeaveTheValuesAreNamed) {
  make(1000, 60);
  for (const auto& [offset, is] : {std::pair<std::size_t, std::int64_t>{500, -5}, {1000, 1'000'000}}) {
    std::vector<std::int64_t> wrong = offsets_;
    wrong[offset] = is;
    column_.offsets = raw("wrong.bin", wrong, {-1});
    RowLoader rows = loader(column_);
    try {
      batches_of(rows);
      FAIL() << "accepted";
    } catch (const FormatError& e) {
      EXPECT_THAT(e.what(),
                  AllOf(HasSubstr("wrong.bin: record"), HasSubstr(std::to_string(is)), HasSubstr("values.bin has")));
    }
  }
}

TEST_P(Records, HoldNothingWhenTheLoaderStops) {
  make(1000, 60);
  RowLoader rows = loader(column_);
  batches_of(rows, 5);
  rows.stop();
  EXPECT_EQ(firmly_held_bytes(), 0u);
}

TEST_F(Records, NeedOffsetsOfTheRightKind) {
  make(10, 5);
  const auto refused = [&](const RowColumn& column) -> std::string {
    try {
      RowLoader rows({column}, {});
      return "accepted";
    } catch (const std::invalid_argument& e) {
      return e.what();
    } catch (const UnsupportedError& e) {
      return e.what();
    }
  };
  EXPECT_THAT(refused({column_.values, counting(11, 1, "int32.bin").index({Slice{}, std::int64_t{0}})}),
              HasSubstr("must be int64, but those in"));
  EXPECT_THAT(refused({column_.values, column_.offsets->index({Slice{}, NewAxis{}})}), HasSubstr("one dimension"));
  EXPECT_THAT(refused({column_.values, column_.offsets->index({Slice{0, 0}})}), HasSubstr("has no offsets"));
  EXPECT_THAT(refused({column_.values, column_.offsets->index({Slice{0, 1}})}), HasSubstr("not one sample"));
  EXPECT_THAT(refused({column_.values.index({Slice{{}, {}, 2}}), column_.offsets}), HasSubstr("one after the other"));
  EXPECT_THAT(refused({column_.values.index({Slice{}, NewAxis{}}), column_.offsets}), HasSubstr("one dimension"));
}

}  // namespace
}  // namespace lowtide
