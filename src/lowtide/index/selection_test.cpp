#include "lowtide/index/selection.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "lowtide/base/interrupt.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"

namespace lowtide {
namespace {

using Values = std::vector<std::int64_t>;
constexpr std::int64_t most_size = std::numeric_limits<std::int64_t>::max() / 8;
// A selection that remembers the shape of what it selects from.
struct Sample : Selection {
  Shape source;
  Sample(Selection selection, Shape shape) : Selection(std::move(selection)), source(std::move(shape)) {}
  template <class... Args>
  Sample index(Args&&... args) const {
    return {Selection::index(std::forward<Args>(args)...), source};
  }
  Sample index(std::initializer_list<Index> indices) const { return {Selection::index(indices), source}; }
  Sample transpose(std::span<const std::size_t> axes) const { return {Selection::transpose(axes), source}; }
  Sample rows(std::int64_t begin, std::int64_t end) const { return {Selection::rows(begin, end), source}; }
  Sample narrow(std::size_t axis, std::int64_t begin, std::int64_t end) const {
    return {Selection::narrow(axis, begin, end), source};
  }
};

Sample arange(const Shape& shape) { return {Selection::whole(shape, most_size), shape}; }

// What np.arange(n).reshape(shape) would hold there, by the formula in selection.h and nothing cleverer.
Values values(const Sample& selection) {
  Values all;
  std::vector<std::int64_t> at(selection.ndim(), 0);
  for (std::int64_t k = selection.size(); k > 0; --k) {
    std::vector<std::int64_t> input;
    for (const Input& axis : selection.inputs()) input.push_back(axis.start);
    for (std::size_t j = 0; j < at.size(); ++j) {
      if (selection.axes()[j].step != 0) input[selection.axes()[j].input] += at[j] * selection.axes()[j].step;
    }
    for (const Table& table : selection.tables()) {
      std::int64_t entry = 0;
      for (std::size_t j = 0; j < table.axes.size(); ++j) entry += at[table.axes[j]] * table.strides[j];
      input[table.input] += table.entries[entry];
    }
    std::int64_t value = 0;
    for (std::size_t i = 0; i < input.size(); ++i) value = value * selection.source[i] + input[i];
    all.push_back(value);
    for (std::size_t j = at.size(); j > 0 && ++at[j - 1] == selection.axes()[j - 1].extent; --j) at[j - 1] = 0;
  }
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
  const Sample s = arange({2, 3});
  EXPECT_EQ(s.shape(), (Shape{2, 3}));
  EXPECT_EQ(s.size(), 6);
  EXPECT_EQ(values(s), (Values{0, 1, 2, 3, 4, 5}));
}

TEST(Selection, SlicesAsPythonDoesWithAnyStep) {
  const Sample s = arange({10});
  EXPECT_EQ(values(s.index({Slice{7, 1, -3}})), (Values{7, 4}));
  EXPECT_EQ(values(s.index({Slice{{}, {}, -4}})), (Values{9, 5, 1}));
  EXPECT_EQ(values(s.index({Slice{-3, 100, {}}})), (Values{7, 8, 9}));
  EXPECT_EQ(values(s.index({Slice{-100, -100, -1}})), (Values{}));
  EXPECT_EQ(values(s.index({Slice{5, {}, std::numeric_limits<std::int64_t>::max()}})), (Values{5}));
  EXPECT_EQ(values(s.index({Slice{5, {}, std::numeric_limits<std::int64_t>::min()}})), (Values{5}));
}

TEST(Selection, IndexedByIntegersAloneHasNoAxesLeft) {
  const Sample s = arange({2, 3}).index({1_i, -1_i});
  EXPECT_EQ(s.ndim(), 0u);
  EXPECT_EQ(values(s), (Values{5}));
  EXPECT_EQ(values(s.index({})), (Values{5}));
  EXPECT_EQ(s.index({Ellipsis{}, NewAxis{}}).shape(), (Shape{1}));
}

TEST(Selection, LetsAnEllipsisStandForTheAxesNotNamed) {
  const Sample s = arange({2, 3, 4});
  EXPECT_EQ(values(s.index({Ellipsis{}, 1_i})), (Values{1, 5, 9, 13, 17, 21}));
  EXPECT_EQ(s.index({0_i, Ellipsis{}, NewAxis{}, 1_i}).shape(), (Shape{3, 1}));
  EXPECT_EQ(s.index({Ellipsis{}, 0_i, 0_i, 0_i}).shape(), (Shape{}));
}

TEST(Selection, GathersRowsWithOneTable) {
  const Sample s = arange({4, 2}).index({Ints{3, -4, 3}});
  EXPECT_EQ(s.shape(), (Shape{3, 2}));
  EXPECT_EQ(values(s), (Values{6, 7, 0, 1, 6, 7}));
  EXPECT_EQ(s.tables().size(), 1u);
}

TEST(Selection, NeedsNoTableForOneRow) {
  const Sample s = arange({4, 2}).index({Ints{-2}});
  EXPECT_EQ(s.shape(), (Shape{1, 2}));
  EXPECT_EQ(values(s), (Values{4, 5}));
  EXPECT_TRUE(s.tables().empty());
}

TEST(Selection, PaysForRowsPlusColumnsInAnOpenMesh) {
  const Sample s = arange({4, 5}).index({Ints{{2, 1}, {3, 0}}, Ints{4, 1, 1}});
  EXPECT_EQ(s.shape(), (Shape{2, 3}));
  EXPECT_EQ(values(s), (Values{19, 16, 16, 4, 1, 1}));
  ASSERT_EQ(s.tables().size(), 2u);
  EXPECT_EQ(s.tables()[0].axes, (std::vector<std::size_t>{0}));
  EXPECT_EQ(s.tables()[1].axes, (std::vector<std::size_t>{1}));
}

TEST(Selection, PutsBroadcastAxesInPlaceOnlyWhenTheIndicesAreNeighbours) {
  const Sample s = arange({2, 3, 4});
  EXPECT_EQ(s.index({all, Ints{0, 1, 2}, Ints{0, 1, 2}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(s.index({all, 0_i, Ints{0, 1, 2}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(s.index({Ints{0, 1, 1, 0, 1}, all, 0_i}).shape(), (Shape{5, 3}));
  EXPECT_EQ(s.index({0_i, all, Ints{0, 1}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(s.index({all, Ints{0, 1, 2}, NewAxis{}, Ints{0, 1, 2}}).shape(), (Shape{3, 2, 1}));
  EXPECT_EQ(s.index({all, Ints{0, 1, 2}, Ellipsis{}, Ints{0, 1, 2}}).shape(), (Shape{3, 2}));
}

TEST(Selection, TakesAMaskForItsNonzero) {
  EXPECT_EQ(values(arange({4}).index({Bools{{4}, {1, 0, 0, 1}}})), (Values{0, 3}));
  const Sample s = arange({2, 3, 2}).index({Bools{{2, 3}, {0, 1, 0, 1, 0, 1}}});
  EXPECT_EQ(s.shape(), (Shape{3, 2}));
  EXPECT_EQ(values(s), (Values{2, 3, 6, 7, 10, 11}));
  EXPECT_EQ(s.tables().size(), 2u);
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
  const Sample once = arange({4, 3}).index({Ints{3, 1, 0}});
  EXPECT_EQ(values(once.index({Ints{2, -3}})), (Values{0, 1, 2, 9, 10, 11}));
  EXPECT_EQ(values(once.index({Ints{2, 0}, Ints{1, 1}})), (Values{1, 10}));
  EXPECT_EQ(values(once.index({Bools{{3}, {0, 1, 1}}, 2_i})), (Values{5, 2}));
  EXPECT_EQ(values(once.index({Slice{{}, {}, -2}, 0_i})), (Values{0, 9}));
}

TEST(Selection, RegathersATableAlongOneOfItsAxes) {
  const Sample pairs = arange({6}).index({Ints{{2, 3}, {5, 0, 4, 1, 3, 2}}});
  EXPECT_EQ(values(pairs.index({all, Ints{2, 0}})), (Values{4, 5, 2, 1}));
  const std::size_t swap[] = {1, 0};
  EXPECT_EQ(values(pairs.transpose(swap).index({Ints{2, 0}})), (Values{4, 2, 5, 1}));
  EXPECT_EQ(values(pairs.index({Bools{{2, 3}, {1, 0, 0, 0, 1, 1}}})), (Values{5, 3, 2}));
}

TEST(Selection, KeepsATableOnlyWhileAnAxisNeedsIt) {
  const Sample s = arange({4, 3}).index({Ints{3, 1, 0}});
  EXPECT_TRUE(s.index({1_i}).tables().empty());
  EXPECT_TRUE(s.rows(1, 2).tables().empty());
  EXPECT_TRUE(s.rows(1, 1).tables().empty());
  EXPECT_EQ(values(s.rows(1, 3)), (Values{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(values(s.narrow(1, 2, 3)), (Values{11, 5, 2}));
}

TEST(Selection, GathersFromAxesTooLongForNarrowEntries) {
  const std::int64_t n = std::int64_t{1} << 40;
  const Sample s = arange({n}).index({Ints{n - 1, -n, 5}});
  EXPECT_EQ(values(s), (Values{n - 1, 0, 5}));
  EXPECT_EQ(values(s.index({Ints{2, 0}})), (Values{5, n - 1}));
  EXPECT_EQ(values(s.index({Ints{0}})), (Values{n - 1}));
  EXPECT_EQ(values(arange({n, 1 << 20}).index({Ints{n / 2, 1}, Ints{7, 9}})),
            (Values{(n / 2) * (1 << 20) + 7, (1 << 20) + 9}));
  EXPECT_FALSE(s.tables()[0].entries.narrow);
  EXPECT_TRUE(arange({1 << 20}).index({Ints{1, 2}}).tables()[0].entries.narrow);
}

TEST(Selection, GivesItsLeaseBackWithTheLastTable) {
  {
    const Sample s = arange({4}).index({Ints{3, 1, 0}}).rows(0, 2);
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
  const Sample s = arange({2, 3, 4});
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
  const Sample s = arange({3, 2}).index({Ints{2, 0, 1}});
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
  const Selection whole = Selection::whole({100'000});
  std::vector<std::int64_t> index;
  for (const std::int64_t start : {5, 99'000, 40, 0}) {
    for (std::int64_t j = 0; j < 1000; ++j) index.push_back(start + j);
  }
  const Selection windows = whole.index({IndexArray{index.data(), {4, 1000}, {8000, 8}}});
  EXPECT_EQ(windows.shape(), (Shape{4, 1000}));
  ASSERT_EQ(windows.tables().size(), 1u);
  EXPECT_EQ(windows.tables()[0].axes, (std::vector<std::size_t>{0}));
  EXPECT_EQ(windows.axes()[1].step, 1);
  index[1500] += 1;  // no longer a window
  const Selection broken = whole.index({IndexArray{index.data(), {4, 1000}, {8000, 8}}});
  EXPECT_EQ(broken.tables()[0].axes, (std::vector<std::size_t>{0, 1}));
  index[1500] -= 1;
  index[0] = -1;  // counts up only as NumPy counts: the last element, then the sixth
  EXPECT_EQ(whole.index({IndexArray{index.data(), {4, 1000}, {8000, 8}}}).tables()[0].axes.size(), 2u);
}

// Under UBSan this fails where indices are loaded or compared as if they were aligned and small.
TEST(Selection, LooksForWindowsAmongAnyIndicesAtAnyAddress) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::byte> packed(1 + 8 * 16);
  const auto at = [&](Values indices) {
    std::memcpy(packed.data() + 1, indices.data(), 8 * indices.size());
    return IndexArray{reinterpret_cast<const std::int64_t*>(packed.data() + 1), {2, 8}, {64, 8}};
  };
  const Sample s = arange({100});
  const Sample windows = s.index({at({1, 2, 3, 4, 5, 6, 7, 8, 50, 51, 52, 53, 54, 55, 56, 57})});
  ASSERT_EQ(windows.tables().size(), 1u);
  EXPECT_EQ(windows.tables()[0].axes, (std::vector<std::size_t>{0}));
  EXPECT_EQ(values(windows), (Values{1, 2, 3, 4, 5, 6, 7, 8, 50, 51, 52, 53, 54, 55, 56, 57}));
  EXPECT_EQ(out_of_range(s, {at({1, lowest, highest, 4, 5, 6, 7, 8, 50, 51, 52, 53, 54, 55, 56, 57})}),
            "index -9223372036854775808 is out of bounds for axis 0 with size 100");
}

TEST(Selection, OfASelectionIsNoLargerHoweverDeep) {
  Sample s = arange({60'000, 2});
  for (int i = 0; i < 50'000; ++i) s = s.index({Slice{1, {}, {}}});
  EXPECT_EQ(s.shape(), (Shape{10'000, 2}));
  EXPECT_EQ(s.inputs()[0].start, 50'000);
  EXPECT_EQ(s.axes().size(), 2u);
}

TEST(Selection, WithoutTablesIsRestoredFromItsStartsAndAxes) {
  const Shape shape{4, 5, 6};
  const std::size_t reversed[] = {2, 1, 0};
  const Sample s = arange(shape).index({Slice{{}, {}, -2}, 3_i, NewAxis{}, Slice{1, 5, {}}}).transpose(reversed);
  EXPECT_EQ(values({Selection::restored(s.inputs(), s.axes()), shape}), values(s));
  const auto refused = [&](const Values& starts, std::vector<Axis> axes) {
    std::vector<Input> inputs;
    for (std::size_t i = 0; i < starts.size(); ++i) inputs.push_back({shape[i], starts[i]});
    return message_of<std::invalid_argument>([&] { Selection::restored(inputs, axes); });
  };
  const std::string message = "not a view of an array of this shape";
  EXPECT_EQ(refused({0, 0, 6}, {}), message);
  EXPECT_EQ(refused({0, 0, 0}, {{4, 2, 0}}), message);
  EXPECT_EQ(refused({3, 0, 0}, {{5, -1, 0}}), message);
  EXPECT_EQ(refused({0, 0, 0}, {{2, std::numeric_limits<std::int64_t>::max(), 3}}), message);
}

// On a thread that has not asked the border yet, the first slice of an index is followed by a question.
bool interrupted_in(const Selection& selection, const Index& index) {
  bool interrupted = false;
  std::thread([&] {
    try {
      selection.index({index});
    } catch (const CancelledError&) {
      interrupted = true;
    }
  }).join();
  return interrupted;
}

TEST(Selection, OfALongIndexCanBeInterrupted) {
  set_budget(std::uint64_t{256} << 20);
  set_interrupt_hook([] { throw CancelledError("interrupted"); });
  const Values zero{0};
  const bool no = false;
  const std::int64_t many = 1 << 20;
  EXPECT_TRUE(interrupted_in(arange({4}), IndexArray{zero.data(), {many}, {0}}));
  EXPECT_TRUE(interrupted_in(arange({4}), IndexArray{zero.data(), {many / 4, 4}, {0, 0}}));
  EXPECT_TRUE(interrupted_in(arange({many}), Mask{&no, {many}, {0}}));
  EXPECT_FALSE(interrupted_in(arange({4}), IndexArray{zero.data(), {4}, {0}}));
  set_interrupt_hook(nullptr);
  EXPECT_EQ(usage().by_purpose["index"], 0u);
}

}  // namespace
}  // namespace lowtide
