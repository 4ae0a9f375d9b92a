// The public face in C++, on real files. NumPy's answers are checked from Python; here are the paths, edges and errors.
#include "lowtide/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"
#include "lowtide/io/test_file.h"
#include "lowtide/memory/budget.h"
#include "lowtide/writer.h"

namespace lowtide {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Arrays : public testing::TestWithParam<const char*> {
 protected:
  Arrays() : mode_(GetParam()) { set_budget(std::uint64_t{64_MiB}); }

  // int32 values 0, 1, 2, … of this shape.
  Array counting(const Shape& shape, const std::string& name = "x.npy") {
    std::vector<std::int32_t> values(
        static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())));
    std::iota(values.begin(), values.end(), 0);
    ConstView view = ConstView::of(std::span<const std::int32_t>(values));
    view.shape = shape;
    view.strides_bytes.assign(shape.size(), 0);
    std::int64_t step = 4;
    for (std::size_t i = shape.size(); i > 0; --i) {
      view.strides_bytes[i - 1] = step;
      step *= shape[i - 1];
    }
    save(folder_ / name, view, {.overwrite = true});
    io::TestFolder::make_cold(folder_ / name);
    return open(folder_ / name);
  }

  io::TestFolder folder_;
  io::ForcedMode mode_;
};
INSTANTIATE_TEST_SUITE_P(Every, Arrays, testing::Values("uring", "threads", "dontcache", "buffered"));

TEST_P(Arrays, RoundTripThroughAFile) {
  const Array a = counting({100, 1000});
  EXPECT_EQ(a.io_mode(), GetParam());
  const auto values = a.read().to_vector<std::int32_t>();
  ASSERT_EQ(values.size(), 100'000u);
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<std::int32_t>(i));
}

TEST_P(Arrays, GatherRowsInTheOrderAsked) {
  const Array a = counting({1000, 3});
  const std::vector<std::int64_t> rows = {999, 0, 500, -1, 0};
  const Buffer b = a.read(std::vector<Index>{IndexArray{rows.data(), {5}, {8}}});
  EXPECT_THAT(b.to_vector<std::int32_t>(),
              ElementsAre(2997, 2998, 2999, 0, 1, 2, 1500, 1501, 1502, 2997, 2998, 2999, 0, 1, 2));
}

TEST_P(Arrays, TransposedAndReversedViewsAreReadRight) {
  const Array a = counting({300, 500});
  const Array v = a.transpose().index({Slice{{}, {}, -1}, Slice{10, 20}});
  const auto values = v.read().to_vector<std::int32_t>();
  for (int i = 0; i < 500; ++i) {
    for (int j = 0; j < 10; ++j) ASSERT_EQ(values[static_cast<std::size_t>(i * 10 + j)], (10 + j) * 500 + (499 - i));
  }
}

TEST_P(Arrays, BlocksCoverEveryRowOnceInOrderAtAnyBudget) {
  const Array a = counting({5000, 1000});
  for (const std::uint64_t budget : {std::uint64_t{8_MiB}, std::uint64_t{64_MiB}}) {
    const BudgetScope scope(budget);
    reset_peak();
    std::int64_t next = 0;
    for (const RowBlock& block : a.blocks()) {
      ASSERT_EQ(block.start, next);
      const auto values = block.buffer.as<std::int32_t>();
      ASSERT_EQ(values.front(), next * 1000);
      next += block.buffer.shape()[0];
      ASSERT_EQ(values.back(), next * 1000 - 1);
    }
    EXPECT_EQ(next, 5000);
    EXPECT_LE(usage().peak_bytes, usage().limit_bytes);
  }
}

TEST_P(Arrays, AssignmentChangesWhatItNamesAndNothingElse) {
  counting({200, 77});
  Array a = open(folder_ / "x.npy", {.mode = Mode::read_write});
  const std::vector<std::int32_t> ones(20, -1);
  a.assign(std::vector<Index>{Slice{10, 30}, std::int64_t{5}}, ConstView::of(std::span<const std::int32_t>(ones)));
  const auto values = open(folder_ / "x.npy").read().to_vector<std::int32_t>();
  for (int i = 0; i < 200; ++i) {
    for (int j = 0; j < 77; ++j) {
      const bool named = i >= 10 && i < 30 && j == 5;
      ASSERT_EQ(values[static_cast<std::size_t>(i * 77 + j)], named ? -1 : i * 77 + j);
    }
  }
}

TEST_P(Arrays, AppendedRowsAppearWhenTheWriterIsClosed) {
  const std::string path = folder_ / "y.npy";
  Writer w = create(path, {.shape = {0, 3}, .dtype = DType::int32});
  std::vector<std::int32_t> row = {1, 2, 3};
  for (int i = 0; i < 5000; ++i) w.append(ConstView::of(std::span<const std::int32_t>(row)));
  EXPECT_THROW(open(path), IoError);
  w.close();
  EXPECT_EQ(open(path).shape(), (Shape{5000, 3}));
  EXPECT_THAT(open(path).index({std::int64_t{4999}}).read().to_vector<std::int32_t>(), ElementsAre(1, 2, 3));
}

TEST_P(Arrays, SaveChangesOrderAndDtypeOnTheWay) {
  const Array a = counting({40, 50});
  save(folder_ / "y.npy", a, {.dtype = DType::float64, .order = Order::fortran});
  const Array y = open(folder_ / "y.npy");
  EXPECT_EQ(y.order(), Order::fortran);
  const auto values = y.index({std::int64_t{7}}).read().to_vector<double>();
  EXPECT_EQ(values[3], 353.0);
}

TEST_P(Arrays, WhatDoesNotFitIsRefusedBeforeAnythingIsRead) {
  const Array a = counting({4096, 1024});
  const BudgetScope scope(std::uint64_t{8_MiB});
  reset_peak();
  try {
    a.read();
    FAIL();
  } catch (const BudgetError& error) {
    EXPECT_THAT(error.what(), HasSubstr("needs at least 16"));
  }
  EXPECT_LE(usage().peak_bytes, 8_MiB);
}

TEST_P(Arrays, ATruncatedFileIsAnErrorWithNumbers) {
  const Array a = counting({4096, 256});
  std::filesystem::resize_file(folder_ / "x.npy", 100'000);
  try {
    a.read();
    FAIL();
  } catch (const DataChangedError& error) {
    EXPECT_THAT(error.what(), HasSubstr("to 100000 bytes"));
  }
}

TEST(Open, AHeaderlessFileNamedNpySaysHowToOpenIt) {
  const io::TestFolder folder;
  const std::string path = folder.pattern("x.npy", 1000);
  try {
    open(path);
    FAIL();
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), HasSubstr("open(\"" + path + "\", dtype="));
  }
  EXPECT_EQ(open(path, {.dtype = DType::uint16}).shape(), (Shape{500}));
}

TEST(Save, ThatCannotFitLeavesNoFile) {
  const io::TestFolder folder;
  const BudgetScope scope(std::uint64_t{64_KiB});
  const std::vector<double> values(1000);
  EXPECT_THROW(save(folder / "y.npy", ConstView::of(std::span<const double>(values))), BudgetError);
  EXPECT_EQ(folder.count(), 0u);
}

}  // namespace
}  // namespace lowtide
