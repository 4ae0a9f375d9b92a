#include "lowtide/loader/rows/shuffle_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "lowtide/error.h"
#include "lowtide/loader/rows/row_test_arrays.h"

namespace lowtide {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ShufflePlans : public testing::Test, protected RowArrays {
 protected:
  ShuffleReport plan(const std::vector<RowColumn>& columns, std::uint64_t budget_bytes = 4_MiB,
                     const ShuffleWish& wish = {}) const {
    return plan_shuffle(RowTable(columns), wish, budget_bytes);
  }
};

TEST_F(ShufflePlans, WideRowsAreReadOneByOne) {
  const ShuffleReport report = plan({{counting(100, 1024)}});
  EXPECT_EQ(report.kind, Shuffle::global);
  EXPECT_EQ(report.window_rows, 100u);
  EXPECT_EQ(report.same_run, 0);
  EXPECT_THAT(report.reason, HasSubstr("a row is 4 KiB in 1 place"));
}

TEST_F(ShufflePlans, NarrowRowsAreReadInWindowsOfAnEighthOfTheBudget) {
  const ShuffleReport report = plan({{counting(100'000, 16)}});
  EXPECT_EQ(report.kind, Shuffle::windowed);
  EXPECT_EQ(report.run_rows, 2048u);
  EXPECT_EQ(report.window_rows, 8'192u);
  EXPECT_GT(report.same_run, report.ideal_same_run);
  EXPECT_THAT(report.reason, AllOf(HasSubstr("64 bytes"), HasSubstr("8192 rows (512 KiB) in runs of 2048")));
}

TEST_F(ShufflePlans, LabelsBesideWideRowsDoNotCount) {
  EXPECT_EQ(plan({{counting(100, 4096)}, {counting(100, 1, "labels.bin")}}).kind, Shuffle::global);
}

TEST_F(ShufflePlans, WhatFitsOneWindowIsMixedAsAWhole) {
  const ShuffleReport report = plan({{counting(1000, 16)}});
  EXPECT_EQ(report.kind, Shuffle::windowed);
  EXPECT_EQ(report.window_rows, 1000u);
  EXPECT_NEAR(report.same_run, report.ideal_same_run, 1e-12);
  EXPECT_THAT(report.reason, HasSubstr("all 1000 rows are mixed in one window"));
}

TEST_F(ShufflePlans, RowsInPiecesAllOverTheFileAreReadInWindows) {
  EXPECT_EQ(plan({{counting(1024, 100).transpose()}}).kind, Shuffle::windowed);
}

TEST_F(ShufflePlans, RecordsAreJudgedByTheirMean) {
  const Array values = raw("values.bin", std::vector<std::uint8_t>(500'000), {-1});
  std::vector<std::int64_t> few(51), many(5001);
  EXPECT_EQ(plan({{values, raw("few.bin", few, {-1})}}).kind, Shuffle::global);
  EXPECT_EQ(plan({{values, raw("many.bin", many, {-1})}}).kind, Shuffle::windowed);
}

TEST_F(ShufflePlans, WhatIsAskedForIsDone) {
  const std::vector<RowColumn> narrow = {{counting(10'000, 4)}};
  EXPECT_EQ(plan(narrow, 4_MiB, {.shuffle = Shuffle::none}).kind, Shuffle::none);
  EXPECT_EQ(plan(narrow, 4_MiB, {.shuffle = Shuffle::global}).kind, Shuffle::global);
  const ShuffleReport windowed = plan(narrow, 4_MiB, {.shuffle = Shuffle::windowed, .window_rows = 500});
  EXPECT_EQ(windowed.window_rows, 500u);
  EXPECT_EQ(windowed.run_rows, 500u);
  EXPECT_THROW(plan(narrow, 4_MiB, {.shuffle = Shuffle::global, .window_rows = 500}), std::invalid_argument);
}

TEST_F(ShufflePlans, ArraysThatDoNotGoTogetherAreRefused) {
  const auto refused = [&](const std::vector<RowColumn>& columns) -> std::string {
    try {
      RowTable table(columns);
      return "accepted";
    } catch (const std::invalid_argument& e) {
      return e.what();
    } catch (const UnsupportedError& e) {
      return e.what();
    }
  };
  const Array x = counting(10, 2);
  EXPECT_THAT(refused({}), HasSubstr("no array"));
  EXPECT_THAT(refused({{x}, {counting(12, 2, "y.bin")}}),
              AllOf(HasSubstr("x.bin has 10 rows"), HasSubstr("y.bin has 12")));
  EXPECT_THAT(refused({{x.index({std::int64_t{1}, std::int64_t{1}})}}), HasSubstr("single value"));
  const Array live = open(folder_ / "x.bin", {.dtype = DType::int32, .shape = Shape{10, 2}, .live = true});
  EXPECT_THAT(refused({{live}}), HasSubstr("is open live"));
}

}  // namespace
}  // namespace lowtide
