#include <gtest/gtest.h>

#include <random>

#include "lowtide/index/selection.h"

namespace lowtide {
namespace {

using Values = std::vector<std::int64_t>;

// Where each element of a selection is in its source in C order, by the formula in selection.h.
Values places(const Selection& selection) {
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
    std::int64_t place = 0;
    for (std::size_t i = 0; i < input.size(); ++i) place = place * selection.inputs()[i].extent + input[i];
    all.push_back(place);
    for (std::size_t j = at.size(); j > 0 && ++at[j - 1] == selection.axes()[j - 1].extent; --j) at[j - 1] = 0;
  }
  return all;
}

class Chooser {
 public:
  explicit Chooser(unsigned seed) : random_(seed) {}
  std::int64_t below(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>(0, end - 1)(random_); }

  // A few random indices, index arrays among them.
  Selection of(Selection selection) {
    for (std::int64_t turn = below(3); turn >= 0 && selection.ndim() > 0 && selection.size() > 0; --turn) {
      std::vector<Values> kept(selection.ndim());
      std::vector<Index> indices;
      for (std::size_t i = 0; i < selection.ndim(); ++i) {
        const std::int64_t extent = selection.axes()[i].extent;
        switch (below(6)) {
          case 0:
            indices.emplace_back(below(extent));
            break;
          case 1:
            indices.emplace_back(Slice{below(extent), {}, 1 + below(2)});
            break;
          case 2:
            indices.emplace_back(Slice{{}, {}, -1});
            break;
          case 3:
            indices.emplace_back(NewAxis{});
            indices.emplace_back(Slice{});
            break;
          case 4:
            for (int k = 0; k < 3; ++k) kept[i].push_back(below(extent));
            indices.emplace_back(IndexArray{kept[i].data(), {3}, {8}});
            break;
          default:
            indices.emplace_back(Slice{});
        }
      }
      selection = selection.index(indices);
      if (selection.ndim() == 2 && below(2) == 0) selection = selection.transpose(std::vector<std::size_t>{1, 0});
    }
    return selection;
  }

 private:
  std::mt19937 random_;
};

TEST(Composition, NamesWhatOneSelectionAfterTheOtherNames) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Chooser choose(seed);
    const Selection inner = choose.of(Selection::whole({4, 3, 5}));
    const Selection outer = choose.of(Selection::whole(inner.shape()));
    const Selection both = inner.of(outer);
    const Values of_inner = places(inner);
    Values expected;
    for (const std::int64_t place : places(outer)) expected.push_back(of_inner[static_cast<std::size_t>(place)]);
    ASSERT_EQ(both.shape(), outer.shape()) << seed;
    ASSERT_EQ(places(both), expected) << seed;
  }
}

TEST(Composition, BroadcastRepeatsElements) {
  const Selection row = Selection::whole({3}).broadcast({2, 3});
  EXPECT_EQ(places(row), (Values{0, 1, 2, 0, 1, 2}));
  EXPECT_FALSE(row.depends_on(0));
  EXPECT_TRUE(row.depends_on(1));
  EXPECT_EQ(places(Selection::whole({2, 1}).broadcast({2, 2})), (Values{0, 0, 1, 1}));
  EXPECT_THROW(Selection::whole({3}).broadcast({2, 4}), std::invalid_argument);
  EXPECT_THROW(Selection::whole({3, 1}).broadcast({3}), std::invalid_argument);
}

TEST(Composition, WithinKeepsAChoiceOnSomeAxesAndTakesTheOthersWhole) {
  const Selection kept = Selection::whole({4, 5}).index({std::int64_t{2}, Slice{1, 3}});
  const Selection all = kept.within({4, 2, 5}, std::vector<std::size_t>{0, 2});
  EXPECT_EQ(all.shape(), (Shape{2, 2}));
  EXPECT_EQ(places(all), (Values{21, 26, 22, 27}));
}

TEST(Composition, SelectionsAreEqualWhereTheirMapsAre) {
  const Selection whole = Selection::whole({4, 5});
  EXPECT_EQ(whole.index({Slice{1, {}}}).index({Slice{1, {}}}), whole.index({Slice{2, {}}}));
  EXPECT_FALSE(whole.index({Slice{1, {}}}) == whole.index({Slice{0, 3}}));
}

}  // namespace
}  // namespace lowtide
