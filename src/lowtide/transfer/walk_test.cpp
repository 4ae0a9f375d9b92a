#include "lowtide/transfer/walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "lowtide/dtype.h"
#include "lowtide/transfer/byte_addresses.h"

namespace lowtide {
namespace {

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;  // (file address, memory address)
using Piece = lowtide::Run;                                        // inside TEST, Run is a member of testing::Test
using Random = std::mt19937_64;

// A selection and the file it is of.
struct Sample {
  Selection selection;
  std::vector<std::int64_t> strides;
  std::size_t itemsize;

  ByteMap map() const { return lower(selection, 128, strides, itemsize); }
  Sample with(Selection other) const { return {std::move(other), strides, itemsize}; }
  Sample index(std::initializer_list<Index> indices) const { return with(selection.index(indices)); }
};

Sample array(const Shape& shape, DType dtype = DType::uint8, Order order = Order::c) {
  std::vector<std::int64_t> strides(shape.size());
  auto stride = static_cast<std::int64_t>(itemsize(dtype));
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const std::size_t i = order == Order::fortran ? k : shape.size() - 1 - k;
    strides[i] = stride;
    stride *= shape[i];
  }
  return {Selection::whole(shape), strides, itemsize(dtype)};
}

std::vector<std::int64_t> dense_strides(const ByteMap& map) {
  std::vector<std::int64_t> strides(map.axes.size());
  auto stride = static_cast<std::int64_t>(map.itemsize);
  for (std::size_t i = strides.size(); i > 0; --i) {
    strides[i - 1] = stride;
    stride *= map.axes[i - 1].extent;
  }
  return strides;
}

Walk dense_walk(const Sample& sample) { return make_walk(sample.map(), dense_strides(sample.map())); }

Pairs by_formula(const ByteMap& map, const std::vector<std::int64_t>& memory_strides) {
  Pairs pairs;
  for_each_address(map, [&](const std::vector<std::int64_t>& index, std::int64_t address) {
    pairs.emplace_back(address,
                       std::inner_product(index.begin(), index.end(), memory_strides.begin(), std::int64_t{0}));
  });
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void add_elements(const Walk& walk, std::size_t axis, std::int64_t count, std::int64_t file, std::int64_t memory,
                  Pairs& pairs) {
  if (axis == walk.run.size()) {
    pairs.emplace_back(file, memory);
    return;
  }
  for (std::int64_t i = 0; i < (axis == 0 ? count : walk.run[axis].extent); ++i) {
    add_elements(walk, axis + 1, count, file + i * walk.run[axis].file_stride,
                 memory + i * walk.run[axis].memory_stride, pairs);
  }
}

std::vector<Piece> all_runs(const Walk& walk, std::size_t batch) {
  std::vector<Piece> runs, part(batch);
  RunCursor cursor(walk);
  while (const std::size_t count = cursor.next(part))
    runs.insert(runs.end(), part.begin(), part.begin() + static_cast<long>(count));
  return runs;
}

Pairs by_runs(const Walk& walk, std::size_t batch) {
  Pairs pairs;
  for (const Piece& run : all_runs(walk, batch)) {
    const std::size_t before = pairs.size();
    add_elements(walk, 0, run.count, run.file_offset, run.memory_offset, pairs);
    const auto last = std::max_element(pairs.begin() + static_cast<long>(before), pairs.end())->first;
    EXPECT_EQ(walk.span_bytes(run), static_cast<std::uint64_t>(last - run.file_offset) + walk.itemsize);
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

Selection randomly_gathered(const Selection& selection, Random& random) {
  const auto axis = static_cast<std::size_t>(between(random, 0, static_cast<std::int64_t>(selection.ndim()) - 1));
  const std::int64_t extent = selection.axes()[axis].extent;
  if (extent == 0) return selection;
  Shape shape{between(random, 1, 4)};
  if (between(random, 0, 2) == 0) shape.push_back(between(random, 1, 3));
  std::vector<std::int64_t> data(12);
  for (std::int64_t& value : data) value = between(random, -extent, extent - 1);
  std::vector<std::int64_t> strides(shape.size(), 8);
  if (shape.size() == 2) strides[0] = 8 * shape[1];
  std::vector<Index> indices(axis, Slice{});
  indices.push_back(IndexArray{data.data(), shape, strides});
  return selection.index(indices);
}

Selection randomly_sliced(const Selection& selection, Random& random) {
  std::vector<Index> indices;
  for (const Axis& axis : selection.axes()) {
    const std::int64_t step = between(random, 0, 2) == 0 ? -between(random, 1, 2) : between(random, 1, 3);
    if (between(random, 0, 3) == 0 && axis.extent > 0) {
      indices.push_back(between(random, 0, axis.extent - 1));
    } else if (between(random, 0, 1) == 0) {
      indices.push_back(Slice{between(random, -3, axis.extent), {}, step});
    } else {
      indices.push_back(Slice{});
    }
  }
  return selection.index(indices);
}

Selection randomly_transposed(const Selection& selection, Random& random) {
  std::vector<std::size_t> permutation(selection.ndim());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::shuffle(permutation.begin(), permutation.end(), random);
  return selection.transpose(permutation);
}

Sample random_sample(Random& random) {
  Shape shape;
  for (std::int64_t i = between(random, 0, 4); i > 0; --i) shape.push_back(between(random, 1, 6));
  // Rows wide enough that some gaps end a run and some runs are split.
  if (!shape.empty() && between(random, 0, 3) == 0) shape[shape.size() / 2] = between(random, 3000, 20000);
  Sample sample = array(shape, DType::int32, between(random, 0, 2) == 0 ? Order::fortran : Order::c);
  Selection& s = sample.selection;
  for (std::int64_t i = between(random, 0, 3); i > 0 && s.ndim() > 0; --i) {
    const std::int64_t kind = between(random, 0, 2);
    s = kind == 0   ? randomly_gathered(s, random)
        : kind == 1 ? randomly_sliced(s, random)
                    : randomly_transposed(s, random);
    if (s.size() > 40'000) s = s.rows(0, std::min<std::int64_t>(s.axes()[0].extent, 2));
  }
  return sample;
}

TEST(Walk, VisitsWhatTheFormulaNames) {
  Random random(20240607);
  for (int round = 0; round < 800; ++round) {
    const ByteMap s = random_sample(random).map();
    if (s.size() > 200'000) continue;
    std::vector<std::int64_t> strides = dense_strides(s);
    if (round % 3 == 0) std::shuffle(strides.begin(), strides.end(), random);
    const Walk walk = make_walk(s, strides);
    ASSERT_EQ(by_runs(walk, 1 + static_cast<std::size_t>(round % 7)), by_formula(s, strides)) << "round " << round;
    ASSERT_EQ(walk.run_count, static_cast<std::int64_t>(all_runs(walk, 64).size()));
  }
}

TEST(Walk, OfAContiguousSelectionIsOneRunOfAnyLength) {
  const Sample all = array({1 << 12, 1 << 10, 8}, DType::float64);
  const Walk walk = dense_walk(all.with(all.selection.rows(1, 4000)));
  EXPECT_EQ(walk.run_count, 1);
  ASSERT_EQ(walk.run.size(), 1u);
  EXPECT_EQ(walk.run_span_bytes, 3999u << 16);
  EXPECT_TRUE(walk.run_is_dense);
}

TEST(Walk, OfATransposedFileIsStillOneRun) {
  const std::size_t swap[] = {1, 0};
  const Sample all = array({4096, 4096});
  const Walk walk = dense_walk(all.with(all.selection.transpose(swap)));
  EXPECT_EQ(walk.run_count, 1);
  EXPECT_EQ(walk.run.size(), 2u);
  EXPECT_EQ(walk.run_span_bytes, 1u << 24);
}

TEST(Walk, OfARowGatherHasOneRunForEachRow) {
  const std::vector<std::int64_t> rows{7, 2, 2, 5};
  const Walk walk = dense_walk(array({10, 100, 4}).index({IndexArray{rows.data(), {4}, {8}}}));
  EXPECT_EQ(walk.run_span_bytes, 400u);
  ASSERT_EQ(walk.outer.size(), 1u);
  const std::vector<Piece> runs = all_runs(walk, 3);
  ASSERT_EQ(runs.size(), 4u);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].file_offset, 128 + 400 * rows[i]);
    EXPECT_EQ(runs[i].memory_offset, static_cast<std::int64_t>(400 * i));
    EXPECT_EQ(runs[i].count, 400);
  }
}

TEST(Walk, OfAColumnGatherGoesDownTheFileRowByRow) {
  const std::vector<std::int64_t> columns{1, 5, 9};
  const Walk walk = dense_walk(array({50, 1000}).index({Slice{}, IndexArray{columns.data(), {3}, {8}}}));
  const std::vector<Piece> runs = all_runs(walk, 64);
  ASSERT_EQ(runs.size(), 150u);
  EXPECT_TRUE(std::is_sorted(runs.begin(), runs.end(),
                             [](const Piece& a, const Piece& b) { return a.file_offset < b.file_offset; }));
}

TEST(Walk, EndsARunAtAWideGap) {
  const std::int64_t wide = widest_gap_bytes + 2;
  EXPECT_EQ(dense_walk(array({4, wide - 1}).index({Slice{}, std::int64_t{0}})).run_count, 1);
  EXPECT_EQ(dense_walk(array({4, wide}).index({Slice{}, std::int64_t{0}})).run_count, 4);
}

TEST(Walk, SplitsALongAxisWithGapsIntoRunsThatFit) {
  const Sample s = array({5'000'000}).index({Slice{{}, {}, 17}});
  const Walk walk = dense_walk(s);
  EXPECT_LE(walk.run_span_bytes, static_cast<std::uint64_t>(longest_run_bytes));
  EXPECT_FALSE(walk.run_is_dense);
  EXPECT_EQ(walk.run_count, 5);
  EXPECT_LT(walk.last_count, walk.run[0].extent);
  EXPECT_EQ(by_runs(walk, 4), by_formula(s.map(), dense_strides(s.map())));
}

TEST(Walk, FlipsANegativeStride) {
  const Walk walk = dense_walk(array({100}).index({Slice{{}, {}, -1}}));
  EXPECT_EQ(walk.base, 128);
  EXPECT_EQ(walk.memory_offset, 99);
  ASSERT_EQ(walk.run.size(), 1u);
  EXPECT_EQ(walk.run[0].memory_stride, -1);
}

TEST(Walk, OfAnEmptySelectionHasNoRuns) {
  EXPECT_EQ(dense_walk(array({3, 0})).run_count, 0);
  EXPECT_TRUE(all_runs(dense_walk(array({3, 0})), 4).empty());
}

TEST(Walk, OfOneElementIsOneRun) {
  const std::vector<Piece> runs = all_runs(dense_walk(array({})), 4);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].file_offset, 128);
  EXPECT_EQ(runs[0].count, 1);
}

}  // namespace
}  // namespace lowtide
