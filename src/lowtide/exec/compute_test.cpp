#include "lowtide/compute.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"
#include "lowtide/io/test_file.h"
#include "lowtide/writer.h"

namespace lowtide {
namespace {

constexpr std::int64_t rows = 700, columns = 900;

double value(std::int64_t i) { return std::sin(static_cast<double>(i)) * 100; }

class Compute : public testing::Test {
 protected:
  Compute() {
    values_.resize(rows * columns);
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = value(static_cast<std::int64_t>(i));
    const ConstView view{reinterpret_cast<const std::byte*>(values_.data()),
                         {rows, columns},
                         {8 * columns, 8},
                         DType::float64,
                         native_endian};
    save(folder_ / "c.npy", view);
    save(folder_ / "f.npy", view, {.order = Order::fortran});
  }
  Array c() const { return open(folder_ / "c.npy"); }
  Array f() const { return open(folder_ / "f.npy"); }
  double at(std::int64_t i, std::int64_t j) const { return values_[static_cast<std::size_t>(i * columns + j)]; }

  io::TestFolder folder_;
  std::vector<double> values_;
};

TEST_F(Compute, ExpressionsOfFilesInBothOrders) {
  for (const char* budget : {"4MiB", "64MiB"}) {
    const BudgetScope scope(budget);
    const Array y = (sqrt(abs(c())) * 2 + f()).index({Slice{{}, {}, -7}, Slice{5, 50}});
    const auto got = y.read().to_vector<double>();
    std::size_t k = 0;
    for (std::int64_t i = rows - 1; i >= 0; i -= 7) {
      for (std::int64_t j = 5; j < 50; ++j) ASSERT_EQ(got[k++], std::sqrt(std::abs(at(i, j))) * 2 + at(i, j));
    }
    EXPECT_EQ(k, got.size());
  }
}

TEST_F(Compute, ReductionsAreTheSameInAnyBudgetAndOrder) {
  std::vector<double> expected(columns, 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) expected[static_cast<std::size_t>(j)] += at(i, j);
  }
  for (const char* budget : {"4MiB", "16MiB", "64MiB"}) {
    const BudgetScope scope(budget);
    for (const Array& a : {c(), f()}) {
      const auto got = sum(a, {0}).read().to_vector<double>();
      for (std::size_t j = 0; j < expected.size(); ++j) ASSERT_NEAR(got[j], expected[j], 1e-9);
      const double total = sum(a).read().to_vector<double>()[0];
      EXPECT_NEAR(total, std::accumulate(expected.begin(), expected.end(), 0.0), 1e-8);
      EXPECT_EQ(max(a).read().to_vector<double>()[0], *std::max_element(values_.begin(), values_.end()));
      const auto place = reduce("argmax", a).read().to_vector<std::int64_t>()[0];
      EXPECT_EQ(place, std::max_element(values_.begin(), values_.end()) - values_.begin());
    }
  }
}

TEST_F(Compute, SeveralReductionsInOnePass) {
  const Array a = c();
  const std::vector<Array> wanted{mean(a), reduce("std", a), max(a), min(a)};
  const auto got = compute(wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(got[i].to_vector<double>(), wanted[i].read().to_vector<double>());
}

TEST_F(Compute, MeansAreTakenFirst) {
  const Array a = c();
  const auto got = (a - mean(a, {0})).read().to_vector<double>();
  const auto means = mean(a, {0}).read().to_vector<double>();
  for (std::size_t i = 0; i < got.size(); i += 1009) ASSERT_EQ(got[i], values_[i] - means[i % columns]);
  EXPECT_EQ(explain(std::array{a - mean(a, {0})}).passes.size(), 2u);
}

TEST_F(Compute, SavesAndStreamsWhatIsLargerThanTheBudget) {
  const BudgetScope scope("3MiB");
  const Array y = c() * 2 + 1;
  save(folder_ / "y.npy", y);
  std::int64_t next = 0;
  for (const RowBlock& block : open(folder_ / "y.npy").blocks()) {
    const auto got = block.buffer.as<double>();
    EXPECT_EQ(block.start, next);
    for (std::size_t i = 0; i < got.size(); i += 101)
      ASSERT_EQ(got[i], values_[static_cast<std::size_t>(block.start * columns) + i] * 2 + 1);
    next += block.buffer.shape()[0];
  }
  EXPECT_EQ(next, rows);
  EXPECT_THROW(y.read(), BudgetError);
}

TEST_F(Compute, JoinsReshapesAndRuns) {
  const Array both = concat(std::array{c(), f()}, 0);
  EXPECT_EQ(both.index({std::int64_t{rows + 3}, std::int64_t{4}}).read().to_vector<double>()[0], at(3, 4));
  EXPECT_EQ(reshape(f(), {rows * columns}).index({Slice{columns + 2, columns + 3}}).read().to_vector<double>()[0],
            at(1, 2));
  EXPECT_EQ(reshape(c() * 1, {columns, rows}).index({std::int64_t{1}, std::int64_t{0}}).read().to_vector<double>()[0],
            values_[rows]);
  const auto running = cumulative("sum", c(), 0).index({Slice{}, std::int64_t{2}}).read().to_vector<double>();
  double sum = 0;
  for (std::int64_t i = 0; i < rows; ++i) ASSERT_NEAR(running[static_cast<std::size_t>(i)], sum += at(i, 2), 1e-9);
  EXPECT_THROW(reshape(c(), {3}), std::invalid_argument);
}

TEST_F(Compute, RandomNumbersDependOnTheirPlaceAlone) {
  const Array r = random("normal", {1000, 10}, 7, DType::float64, 0, 1);
  const auto all = r.read().to_vector<double>();
  const auto some = r.index({Slice{500, 502}}).read().to_vector<double>();
  EXPECT_EQ(std::vector<double>(all.begin() + 5000, all.begin() + 5020), some);
  EXPECT_NEAR(mean(r).read().to_vector<double>()[0], 0, 0.05);
  EXPECT_NEAR(reduce("std", r).read().to_vector<double>()[0], 1, 0.05);
}

TEST(Reductions, OfOneElementWithoutAxes) {
  EXPECT_EQ(sum(full({}, 3, DType::int8)).read().to_vector<std::int64_t>()[0], 3);
  EXPECT_EQ(sum(full({2}, 3, DType::int8), {}).read().to_vector<std::int64_t>(), (std::vector<std::int64_t>{3, 3}));
}

TEST(ComputeErrors, HaveNumPysWords) {
  const Array a = full({3}, 1, DType::int8);
  EXPECT_THROW(a + full({4}, 1, DType::int8), std::invalid_argument);
  EXPECT_THROW(elementwise("bitwise_and", {full({3}, 1, DType::float32), a}), TypeError);
  EXPECT_THROW(elementwise("no_such", {a}), UnsupportedError);
  EXPECT_THROW(max(full({0}, 1, DType::int8)), std::invalid_argument);
  EXPECT_EQ(sum(full({0}, 1, DType::int8)).read().to_vector<std::int64_t>()[0], 0);
  EXPECT_EQ(mean(full({2, 0}, 1, DType::float64), {1}).read().to_vector<double>().size(), 2u);
}

}  // namespace
}  // namespace lowtide
