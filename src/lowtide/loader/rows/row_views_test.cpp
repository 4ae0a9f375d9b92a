// Rows of views, whose bytes are wherever the view says, and of files in other byte orders.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "lowtide/loader/rows/row_test_arrays.h"
#include "lowtide/writer.h"

namespace lowtide {
namespace {

class RowViews : public testing::TestWithParam<Shuffle>, protected RowArrays {
 protected:
  // Every row of a loader is what reading the view gives.
  void expect_rows_of(const Array& view) {
    SCOPED_TRACE(view.path());
    const Buffer all = view.read();
    const auto rows = static_cast<std::uint64_t>(view.shape()[0]);
    const std::uint64_t row_bytes = all.size_bytes() / rows;
    RowLoader loader({{view}}, {.share = {.batch = 37, .epochs = 2},
                                .shuffle = GetParam(),
                                .window_rows = GetParam() == Shuffle::windowed ? 120u : 0u});
    std::vector<std::uint64_t> seen;
    while (auto batch = loader.next()) {
      Shape shape = view.shape();
      shape[0] = static_cast<std::int64_t>(batch->rows.size());
      ASSERT_EQ(batch->columns[0].shape(), shape);
      ASSERT_EQ(batch->columns[0].dtype(), view.dtype());
      for (std::size_t i = 0; i < batch->rows.size() && row_bytes > 0; ++i) {
        ASSERT_EQ(
            std::memcmp(batch->columns[0].data() + i * row_bytes, all.data() + batch->rows[i] * row_bytes, row_bytes),
            0)
            << "row " << batch->rows[i];
      }
      seen.insert(seen.end(), batch->rows.begin(), batch->rows.end());
    }
    std::vector<std::uint64_t> twice = numbers(rows);
    for (const std::uint64_t row : numbers(rows)) twice.push_back(row);
    EXPECT_EQ(sorted(seen), sorted(twice));
  }
};
INSTANTIATE_TEST_SUITE_P(Every, RowViews, testing::Values(Shuffle::none, Shuffle::global, Shuffle::windowed));

TEST_P(RowViews, ReversedAndStridedRows) {
  const Array x = counting(611, 9);
  expect_rows_of(x.index({Slice{{}, {}, -1}}));
  expect_rows_of(x.index({Slice{10, {}, 3}}));
  expect_rows_of(x.index({Slice{5, 500}, Slice{2, 7}}));
}

TEST_P(RowViews, StridedAndReversedColumns) {
  const Array x = counting(611, 9);
  expect_rows_of(x.index({Slice{}, Slice{{}, {}, 2}}));
  expect_rows_of(x.index({Slice{{}, {}, -2}, Slice{{}, {}, -1}}));
}

TEST_P(RowViews, TransposedAndFortranArrays) {
  const Array x = counting(12, 400);
  expect_rows_of(x.transpose());
  save(folder_ / "f.npy", counting(300, 20), {.order = Order::fortran});
  expect_rows_of(open(folder_ / "f.npy"));
}

TEST_P(RowViews, GatheredRowsSomeOfThemTwice) {
  const Array x = counting(500, 6);
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < 333; ++i) chosen.push_back((i * 7919) % 500);
  chosen.push_back(chosen[5]);
  const Index rows = IndexArray{chosen.data(), {static_cast<std::int64_t>(chosen.size())}, {8}};
  expect_rows_of(x.index({rows}));
  const std::vector<std::int64_t> columns = {5, 0, 3};
  expect_rows_of(x.index({Slice{}, IndexArray{columns.data(), {3}, {8}}}));
}

TEST_P(RowViews, OneDimensionThreeDimensionsAndRowsOfNothing) {
  const Array x = counting(600, 8);
  expect_rows_of(x.index({Slice{}, std::int64_t{3}}));
  expect_rows_of(raw("cube.bin", std::vector<std::int16_t>(400 * 6, 5), {400, 2, 3}));
  expect_rows_of(x.index({Slice{}, Slice{0, 0}}));
}

TEST_P(RowViews, BigEndianFiles) {
  std::vector<std::int32_t> values(3000);
  std::iota(values.begin(), values.end(), -1000);
  const Array x = raw("big.bin", values, {500, 6}, Endian::big);
  expect_rows_of(x);
  expect_rows_of(x.index({Slice{}, Slice{{}, {}, 2}}));
}

TEST_P(RowViews, InEveryModeOfReading) {
  for (const char* mode : {"uring", "threads", "dontcache", "buffered"}) {
    const io::ForcedMode forced(mode);
    expect_rows_of(counting(700, 300));
    expect_rows_of(counting(12, 300).transpose());
  }
}

TEST_P(RowViews, TwoViewsOfOneFileGoTogether) {
  const Array x = counting(500, 6);
  RowLoader loader({{x.index({Slice{}, Slice{0, 5}})}, {x.index({Slice{}, std::int64_t{5}})}},
                   {.share = {.batch = 50, .epochs = 1}, .shuffle = GetParam()});
  std::size_t count = 0;
  while (auto batch = loader.next()) {
    const auto features = batch->columns[0].as<std::int32_t>(), labels = batch->columns[1].as<std::int32_t>();
    for (std::size_t i = 0; i < labels.size(); ++i, ++count) ASSERT_EQ(labels[i], features[i * 5 + 4] + 1);
  }
  EXPECT_EQ(count, 500u);
}

}  // namespace
}  // namespace lowtide
