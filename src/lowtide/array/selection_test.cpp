#include "lowtide/array/selection.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>

#include "lowtide/array/selection_addresses.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"

namespace lowtide {
namespace {

using Values = std::vector<std::int64_t>;
constexpr std::int64_t header_bytes = 64;

Selection arange(Shape shape, Order order = Order::c) {
  Layout layout;
  layout.dtype = DType::int64;
  layout.order = order;
  layout.shape = std::move(shape);
  layout.data_offset = header_bytes;
  return Selection::whole(layout);
}

// What np.arange(n).reshape(shape) would hold there.
Values values(const Selection& selection) {
  Values all = addresses(selection);
  for (std::int64_t& address : all) address = (address - header_bytes) / 8;
  return all;
}

std::vector<std::int64_t> c_strides(const Shape& shape, std::int64_t itemsize) {
  std::vector<std::int64_t> strides(shape.size());
  for (std::size_t i = shape.size(); i > 0; --i) {
    strides[i - 1] = itemsize;
    itemsize *= shape[i - 1];
  }
  return strides;
}

// Keeps the data of an index alive for the statement it is used in.
struct Ints {
  Values data;
  Shape shape;
  Ints(std::initializer_list<std::int64_t> list) : data(list), shape{static_cast<std::int64_t>(list.size())} {}
  Ints(Shape s, std::initializer_list<std::int64_t> list) : data(list), shape(std::move(s)) {}
  operator Index() const { return IndexArray{data.data(), shape, c_strides(shape, 8)}; }
};

struct Bools {
  std::unique_ptr<bool[]> data;
  Shape shape;
  Bools(Shape s, std::initializer_list<int> list) : data(new bool[list.size() + 1]), shape(std::move(s)) {
    std::copy(list.begin(), list.end(), data.get());
  }
  operator Index() const { return Mask{data.get(), shape, c_strides(shape, 1)}; }
};

constexpr std::int64_t operator""_i(unsigned long long value) { return static_cast<std::int64_t>(value); }
const Slice all{};

template <class Error, class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

std::string out_of_range(const Selection& selection, std::initializer_list<Index> indices) {
  return message_of<std::out_of_range>([&] { selection.index(indices); });
}

TEST(Selection, OfAWholeArrayNamesEveryElementInOrder) {
  const Selection s = arange({2, 3});
  EXPECT_EQ(s.shape(), (Shape{2, 3}));
  EXPECT_EQ(s.size_bytes(), 48u);
  EXPECT_EQ(values(s), (Values{0, 1, 2, 3, 4, 5}));
}

TEST(Selection, OfAFortranArrayStepsThroughColumnsFirst) {
  EXPECT_EQ(values(arange({2, 3}, Order::fortran)), (Values{0, 2, 4, 1, 3, 5}));
}

TEST(Selection, IsContiguousWhenCOrderIsFileOrder) {
  EXPECT_TRUE(arange({4, 3}).contiguous());
  EXPECT_TRUE(arange({4, 3}).rows(1, 3).contiguous());
  EXPECT_TRUE(arange({}).contiguous());
  EXPECT_TRUE(arange({3, 0}).contiguous());
  EXPECT_TRUE(arange({4, 3}).index({2_i, NewAxis{}, Slice{0, 2, {}}}).contiguous());
  EXPECT_FALSE(arange({4, 3}).index({all, Slice{0, 2, {}}}).contiguous());
  EXPECT_FALSE(arange({4, 3}, Order::fortran).contiguous());
  EXPECT_FALSE(arange({4}).index({Slice{{}, {}, -1}}).contiguous());
  EXPECT_FALSE(arange({4}).index({Ints{0, 1}}).contiguous());
}

TEST(Selection, SlicesAsPythonDoesWithAnyStep) {
  const Selection s = arange({10});
  EXPECT_EQ(values(s.index({Slice{7, 1, -3}})), (Values{7, 4}));
  EXPECT_EQ(values(s.index({Slice{{}, {}, -4}})), (Values{9, 5, 1}));
  EXPECT_EQ(values(s.index({Slice{-3, 100, {}}})), (Values{7, 8, 9}));
  EXPECT_EQ(values(s.index({Slice{-100, -100, -1}})), (Values{}));
  EXPECT_EQ(values(s.index({Slice{5, {}, std::numeric_limits<std::int64_t>::max()}})), (Values{5}));
  EXPECT_EQ(values(s.index({Slice{5, {}, std::numeric_limits<std::int64_t>::min()}})), (Values{5}));
}

TEST(Selection, IndexedByIntegersAloneHasNoAxesLeft) {
  const Selection s = arange({2, 3}).index({1_i, -1_i});
  EXPECT_EQ(s.ndim(), 0u);
  EXPECT_EQ(values(s), (Values{5}));
  EXPECT_EQ(values(s.index({})), (Values{5}));
  EXPECT_EQ(s.index({Ellipsis{}, NewAxis{}}).shape(), (Shape{1}));
}

TEST(Selection, LetsAnEllipsisStandForTheAxesNotNamed) {
  const Selection s = arange({2, 3, 4});
  EXPECT_EQ(values(s.index({Ellipsis{}, 1_i})), (Values{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(s.index({0_i, Ellipsis{}, NewAxis{}, 1_i}).shape(), (Shape{3, 1}));
  EXPECT_EQ(s.index({Ellipsis{}, 0_i, 0_i, 0_i}).shape(), (Shape{}));
}

TEST(Selection, GathersRowsWithOneTable) {
  const Selection s = arange({4, 2}).index({Ints{3, -4, 3}});
  EXPECT_EQ(s.shape(), (Shape{3, 2}));
  EXPECT_EQ(values(s), (Values{6, 7, 0, 1, 6, 7}));
  EXPECT_EQ(s.tables().size(), 1u);
}

TEST(Selection, NeedsNoTableForOneRow) {
  const Selection s = arange({4, 2}).index({Ints{-2}});
  EXPECT_EQ(s.shape(), (Shape{1, 2}));
  EXPECT_EQ(values(s), (Values{4, 5}));
  EXPECT_TRUE(s.tables().empty());
}

TEST(Selection, PaysForRowsPlusColumnsInAnOpenMesh) {
  const Selection s = arange({4, 5}).index({Ints{{2, 1}, {3, 0}}, Ints{4, 1, 1}});
  EXPECT_EQ(s.shape(), (Shape{2, 3}));
  EXPECT_EQ(values(s), (Values{19, 16, 16, 4, 1, 1}));
  ASSERT_EQ(s.tables().size(), 2u);
  EXPECT_EQ(s.tables()[0].axes, (std::vector<std::size_t>{0}));
  EXPECT_EQ(s.tables()[1].axes, (std::vector<std::size_t>{1}));
}

TEST(Selection, PutsBroadcastAxesInPlaceOnlyWhenTheIndicesAreNeighbours) {
  const Selection s = arange({2, 3, 4});
  EXPECT_EQ(s.index({all, Ints{0, 1, 2}, Ints{0, 1, 2}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(s.index({all, 0_i, Ints{0, 1, 2}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(s.index({Ints{0, 1, 1, 0, 1}, all, 0_i}).shape(), (Shape{5, 3}));
  EXPECT_EQ(s.index({0_i, all, Ints{0, 1}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(s.index({all, Ints{0, 1, 2}, NewAxis{}, Ints{0, 1, 2}}).shape(), (Shape{3, 2, 1}));
  EXPECT_EQ(s.index({all, Ints{0, 1, 2}, Ellipsis{}, Ints{0, 1, 2}}).shape(), (Shape{3, 2}));
}

TEST(Selection, TakesAMaskForItsNonzero) {
  EXPECT_EQ(values(arange({4}).index({Bools{{4}, {1, 0, 0, 1}}})), (Values{0, 3}));
  const Selection s = arange({2, 3, 2}).index({Bools{{2, 3}, {0, 1, 0, 1, 0, 1}}});
  EXPECT_EQ(s.shape(), (Shape{3, 2}));
  EXPECT_EQ(values(s), (Values{2, 3, 6, 7, 10, 11}));
  EXPECT_EQ(s.tables().size(), 1u);
  EXPECT_EQ(values(arange({3, 3}).index({Ints{2, 0}, Bools{{3}, {1, 0, 1}}})), (Values{6, 2}));
}

TEST(Selection, GainsAnAxisFromAMaskWithoutAxes) {
  EXPECT_EQ(arange({2}).index({Bools{{}, {1}}}).shape(), (Shape{1, 2}));
  EXPECT_EQ(arange({2}).index({Bools{{}, {0}}}).shape(), (Shape{0, 2}));
  EXPECT_EQ(arange({}).index({Bools{{}, {1}}}).shape(), (Shape{1}));
  EXPECT_EQ(arange({2, 3}).index({all, Bools{{}, {1}}}).shape(), (Shape{2, 1, 3}));
}

TEST(Selection, ReadsIndexArraysOfAnyStrides) {
  const Values data{0, 9, 1, 9, 2, 9};
  const IndexArray every_other_backwards{data.data() + 4, {3}, {-16}};
  EXPECT_EQ(values(arange({3}).index({every_other_backwards})), (Values{2, 1, 0}));
}

TEST(Selection, GathersFromAGather) {
  const Selection once = arange({4, 3}).index({Ints{3, 1, 0}});
  EXPECT_EQ(values(once.index({Ints{2, -3}})), (Values{0, 1, 2, 9, 10, 11}));
  EXPECT_EQ(values(once.index({Ints{2, 0}, Ints{1, 1}})), (Values{1, 10}));
  EXPECT_EQ(values(once.index({Bools{{3}, {0, 1, 1}}, 2_i})), (Values{5, 2}));
  EXPECT_EQ(values(once.index({Slice{{}, {}, -2}, 0_i})), (Values{0, 9}));
}

TEST(Selection, RegathersATableAlongOneOfItsAxes) {
  const Selection pairs = arange({6}).index({Ints{{2, 3}, {5, 0, 4, 1, 3, 2}}});
  EXPECT_EQ(values(pairs.index({all, Ints{2, 0}})), (Values{4, 5, 2, 1}));
  const std::size_t swap[] = {1, 0};
  EXPECT_EQ(values(pairs.transpose(swap).index({Ints{2, 0}})), (Values{4, 2, 5, 1}));
  EXPECT_EQ(values(pairs.index({Bools{{2, 3}, {1, 0, 0, 0, 1, 1}}})), (Values{5, 3, 2}));
}

TEST(Selection, KeepsATableOnlyWhileAnAxisNeedsIt) {
  const Selection s = arange({4, 3}).index({Ints{3, 1, 0}});
  EXPECT_TRUE(s.index({1_i}).tables().empty());
  EXPECT_TRUE(s.rows(1, 2).tables().empty());
  EXPECT_TRUE(s.rows(1, 1).tables().empty());
  EXPECT_EQ(values(s.rows(1, 3)), (Values{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(values(s.narrow(1, 2, 3)), (Values{11, 5, 2}));
}

TEST(Selection, GivesItsLeaseBackWithTheLastTable) {
  {
    const Selection s = arange({4}).index({Ints{3, 1, 0}}).rows(0, 2);
    EXPECT_GT(usage().by_purpose["index"], 0u);
  }
  EXPECT_EQ(usage().by_purpose["index"], 0u);
}

TEST(Selection, RefusesATableThatTheBudgetCannotPay) {
  const Values zero{0};
  const IndexArray many{zero.data(), {1 << 20}, {0}};
  const BudgetScope scope(std::uint64_t{1} << 20);
  EXPECT_THROW(arange({4}).index({many}), BudgetError);
}

TEST(Selection, RefusesAResultOfMoreBytesThanCanBeCounted) {
  const Values zero{0};
  const std::int64_t n = std::int64_t{1} << 31;
  const IndexArray rows{zero.data(), {n, 1}, {0, 0}}, columns{zero.data(), {1, n}, {0, 0}};
  EXPECT_EQ(message_of<std::invalid_argument>([&] { arange({2, 2}).index({rows, columns}); }),
            "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.");
}

TEST(Selection, HandlesEmptyAxesAndEmptyIndices) {
  const Ints none(Shape{0}, {});
  EXPECT_EQ(arange({3, 2}).index({none}).shape(), (Shape{0, 2}));
  EXPECT_EQ(arange({3, 0}).index({Ints{1, 2}}).shape(), (Shape{2, 0}));
  EXPECT_EQ(arange({0, 3}).index({all, Ints{2, 2}}).shape(), (Shape{0, 2}));
  EXPECT_EQ(arange({3, 2}).index({none, Ints{9}}).shape(), (Shape{0}));
  EXPECT_EQ(arange({0, 3}).index({Bools{{0, 3}, {}}}).shape(), (Shape{0}));
}

TEST(Selection, SpeaksOfAWrongIndexAsNumPyDoes) {
  const Selection s = arange({2, 3, 4});
  EXPECT_EQ(out_of_range(s, {0_i, 3_i}), "index 3 is out of bounds for axis 1 with size 3");
  EXPECT_EQ(out_of_range(s, {all, Ints{0, -4, 7}}), "index -4 is out of bounds for axis 1 with size 3");
  EXPECT_EQ(out_of_range(arange({0, 3}), {all, Ints{5, 0}}), "index 5 is out of bounds for axis 1 with size 3");
  EXPECT_EQ(out_of_range(s, {0_i, 0_i, 0_i, 0_i}),
            "too many indices for array: array is 3-dimensional, but 4 were indexed");
  EXPECT_EQ(out_of_range(s, {Ellipsis{}, Ellipsis{}}), "an index can only have a single ellipsis ('...')");
  EXPECT_EQ(out_of_range(s, {Ints{0, 1}, Ints{0, 1, 2}}),
            "shape mismatch: indexing arrays could not be broadcast together with shapes (2,) (3,) ");
  EXPECT_EQ(
      out_of_range(s, {all, Bools{{2}, {1, 1}}}),
      "boolean index did not match indexed array along axis 1; size of axis is 3 but size of corresponding boolean "
      "axis is 2");
  EXPECT_EQ(message_of<std::invalid_argument>([&] { s.index({Slice{{}, {}, 0}}); }), "slice step cannot be zero");
}

TEST(Selection, HasAtMost64Axes) {
  const std::vector<Index> new_axes(62, NewAxis{});
  EXPECT_EQ(message_of<std::out_of_range>([&] { arange({2, 3, 4}).index(new_axes); }),
            "number of dimensions must be within [0, 64], indexing result would have 65");
  EXPECT_EQ(arange({2, 3, 4}).index(std::span(new_axes).first(61)).ndim(), 64u);
}

TEST(Selection, TransposesAxesAndTheirTables) {
  const std::size_t swap[] = {1, 0}, twice[] = {0, 0}, beyond[] = {0, 2};
  const Selection s = arange({3, 2}).index({Ints{2, 0, 1}});
  EXPECT_EQ(values(s.transpose(swap)), (Values{4, 0, 2, 5, 1, 3}));
  const auto refusal = [&](std::span<const std::size_t> axes) {
    return message_of<std::invalid_argument>([&] { s.transpose(axes); });
  };
  EXPECT_EQ(refusal(std::span(swap).first(1)), "axes don't match array");
  EXPECT_EQ(refusal(twice), "repeated axis in transpose");
  EXPECT_EQ(refusal(beyond), "axis 2 is out of bounds for array of dimension 2");
}

TEST(Selection, WindowsGivenElementByElementNeedOneOffsetEach) {
  set_budget(std::uint64_t{64} << 20);
  Layout layout;
  layout.dtype = DType::uint16;
  layout.shape = {100'000};
  const Selection whole = Selection::whole(layout);
  std::vector<std::int64_t> index;
  for (const std::int64_t start : {5, 99'000, 40, 0}) {
    for (std::int64_t j = 0; j < 1000; ++j) index.push_back(start + j);
  }
  const Selection windows = whole.index({IndexArray{index.data(), {4, 1000}, {8000, 8}}});
  EXPECT_EQ(windows.shape(), (Shape{4, 1000}));
  ASSERT_EQ(windows.tables().size(), 1u);
  EXPECT_EQ(windows.tables()[0].axes, (std::vector<std::size_t>{0}));
  EXPECT_EQ(windows.axes()[1].stride_bytes, 2);
  index[1500] += 1;  // no longer a window
  const Selection broken = whole.index({IndexArray{index.data(), {4, 1000}, {8000, 8}}});
  EXPECT_EQ(broken.tables()[0].axes, (std::vector<std::size_t>{0, 1}));
  index[1500] -= 1;
  index[0] = -1;  // counts up only as NumPy counts: the last element, then the sixth
  EXPECT_EQ(whole.index({IndexArray{index.data(), {4, 1000}, {8000, 8}}}).tables()[0].axes.size(), 2u);
}

}  // namespace
}  // namespace lowtide
