#include "lowtide/kernels/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "lowtide/kernels/half.h"
#include "lowtide/kernels/strip_call.h"

namespace lowtide {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();
using Moment = FinishOptions::Moment;

// The state after `values`, in runs of `piece` merged into one another.
template <class T>
std::vector<std::uint64_t> state_of(Reduction reduction, DType in, const std::vector<T>& values, std::size_t piece,
                                    Simd simd) {
  const ReduceKernel* kernel = reduce_kernel(reduction, in, simd);
  std::vector<std::uint64_t> state(kernel->state_bytes / 8), part(state);
  kernel->init(raw(state), 1);
  for (std::size_t i = 0; i < values.size(); i += piece) {
    kernel->init(raw(part), 1);
    kernel->run(raw(part), raw(values) + i * sizeof(T), std::min(piece, values.size() - i),
                static_cast<std::int64_t>(i));
    kernel->merge(raw(state), raw(part), 1);
  }
  return state;
}

template <class Out, class T>
Out reduced(Reduction reduction, const std::vector<T>& values, const FinishOptions& options = {},
            std::size_t piece = 1000, Simd simd = best_simd()) {
  const auto state = state_of(reduction, dtype_of<T>, values, piece, simd);
  Out out;
  finish(reduction, dtype_of<T>, raw(state), 1, reinterpret_cast<std::byte*>(&out), dtype_of<Out>, options);
  return out;
}

template <class Out, class T>
std::vector<Out> reduced_rows(Reduction reduction, const std::vector<T>& values, std::size_t columns,
                              std::size_t rows_a_call, const FinishOptions& options = {}, Simd simd = best_simd()) {
  const ReduceKernel* kernel = reduce_kernel(reduction, dtype_of<T>, simd);
  std::vector<std::uint64_t> states(columns * kernel->state_bytes / 8);
  kernel->init(raw(states), columns);
  const std::size_t rows = values.size() / columns, stride = columns * sizeof(T);
  for (std::size_t i = 0; i < rows; i += rows_a_call)
    kernel->rows(raw(states), raw(values) + i * stride, columns, std::min(rows_a_call, rows - i), stride,
                 static_cast<std::int64_t>(i), 1);
  std::vector<Out> out(columns);
  finish(reduction, dtype_of<T>, raw(states), columns, raw(out), dtype_of<Out>, options);
  return out;
}

template <class T>
std::vector<T> normal_numbers(std::size_t count, double mean = 0, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean, 1);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(normal(random));
  return values;
}

TEST(Reduce, SumsOfOnesAreExactInFloat32) {
  const std::vector<float> ones(1 << 20, 1.0f);
  const ReduceKernel* kernel = reduce_kernel(Reduction::sum, DType::float32);
  std::vector<std::uint64_t> state(kernel->state_bytes / 8);
  kernel->init(raw(state), 1);
  for (int i = 0; i < 100; ++i) kernel->run(raw(state), raw(ones), ones.size(), 0);
  double sum;
  finish(Reduction::sum, DType::float32, raw(state), 1, reinterpret_cast<std::byte*>(&sum), DType::float64, {});
  EXPECT_EQ(sum, 100.0 * (1 << 20));
}

TEST(Reduce, FloatSumsAreWithinARoundingOfTheTruth) {
  std::vector<double> values = normal_numbers<double>(100000, 1e6);
  long double truth = 0;
  for (const double value : values) truth += value;
  EXPECT_NEAR(reduced<double>(Reduction::sum, values), static_cast<double>(truth), 1e-15 * std::fabs(truth));
}

TEST(Reduce, FloatSumsDependOnTheCutsByNoMoreThanRounding) {
  const auto values = normal_numbers<double>(50000);
  const double whole = reduced<double>(Reduction::sum, values, {}, values.size());
  for (const std::size_t piece : {1, 7, 256, 4096})
    EXPECT_NEAR(reduced<double>(Reduction::sum, values, {}, piece), whole, 1e-11);
}

TEST(Reduce, IntegersAreSummedWideAndWrap) {
  EXPECT_EQ(reduced<std::int64_t>(Reduction::sum, std::vector<std::int8_t>(1000, -100)), -100000);
  EXPECT_EQ(reduced<std::uint64_t>(Reduction::sum, std::vector<std::uint8_t>(1000, 200)), 200000u);
  EXPECT_EQ(reduced<std::int64_t>(Reduction::sum, std::vector<std::int64_t>{INT64_MAX, 1}), INT64_MIN);
  EXPECT_EQ(reduced<std::int64_t>(Reduction::prod, std::vector<std::int32_t>{-3, 4, 5}), -60);
}

TEST(Reduce, InfinityStaysInfiniteInSums) {
  EXPECT_EQ(reduced<double>(Reduction::sum, std::vector<double>{1, infinity, 2}, {}, 1), infinity);
  EXPECT_TRUE(std::isnan(reduced<double>(Reduction::sum, std::vector<double>{infinity, -infinity}, {}, 1)));
  EXPECT_EQ(reduced<double>(Reduction::moments, std::vector<double>{1, -infinity}), -infinity);
  EXPECT_TRUE(std::isnan(reduced<double>(Reduction::moments, std::vector<double>{1, infinity}, {Moment::var, 0})));
}

TEST(Reduce, OfNothingIsTheIdentity) {
  EXPECT_EQ(reduced<double>(Reduction::sum, std::vector<double>{}), 0);
  EXPECT_EQ(reduced<double>(Reduction::prod, std::vector<double>{}), 1);
  EXPECT_TRUE(std::isnan(reduced<double>(Reduction::moments, std::vector<double>{})));
  EXPECT_TRUE(std::isnan(reduced<double>(Reduction::moments, std::vector<double>{}, {Moment::var, 0})));
}

TEST(Reduce, ExtremesPropagateNanAndPlacesAreTheFirst) {
  std::vector<float> values = normal_numbers<float>(5000);
  values[100] = values[4000] = 50;
  values[7] = values[4999] = -50;
  EXPECT_EQ(reduced<float>(Reduction::max, values), 50);
  EXPECT_EQ(reduced<float>(Reduction::min, values), -50);
  EXPECT_EQ(reduced<std::int64_t>(Reduction::argmax, values), 100);
  EXPECT_EQ(reduced<std::int64_t>(Reduction::argmin, values), 7);
  values[3000] = values[3001] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(reduced<float>(Reduction::max, values)));
  EXPECT_TRUE(std::isnan(reduced<float>(Reduction::min, values)));
  EXPECT_EQ(reduced<std::int64_t>(Reduction::argmax, values), 3000);
  EXPECT_EQ(reduced<std::int64_t>(Reduction::argmin, values), 3000);
}

TEST(Reduce, PlacesAreFoundAmongTheLeastValues) {
  EXPECT_EQ(reduced<std::int64_t>(Reduction::argmax, std::vector<std::int8_t>{-128, -128}), 0);
  EXPECT_EQ(reduced<std::int64_t>(Reduction::argmax, std::vector<double>{-infinity, -infinity}), 0);
  EXPECT_EQ(reduced<std::uint8_t>(Reduction::max, std::vector<std::uint8_t>{0, 0}), 0);
}

TEST(Reduce, ComplexNumbersAreOrderedLexicographically) {
  using Complex = std::complex<double>;
  const std::vector<Complex> values = {{1, 5}, {2, -1}, {2, 3}, {0, 9}, {0, -9}};
  EXPECT_EQ(reduced<Complex>(Reduction::max, values), Complex(2, 3));
  EXPECT_EQ(reduced<Complex>(Reduction::min, values), Complex(0, -9));
  EXPECT_EQ(reduced<std::int64_t>(Reduction::argmax, values), 2);
  EXPECT_EQ(reduced<Complex>(Reduction::sum, values), Complex(5, 7));
  EXPECT_EQ(reduced<Complex>(Reduction::prod, std::vector<Complex>{{1, 2}, {3, -1}}), Complex(5, 5));
  EXPECT_EQ(reduced<Complex>(Reduction::moments, values), Complex(1, 1.4));
  EXPECT_NEAR(reduced<double>(Reduction::moments, values, {Moment::var, 0}), 38.24, 1e-12);  // np.var
}

TEST(Reduce, TruthIsCounted) {
  std::vector<std::int16_t> values(3000, 1);
  EXPECT_TRUE(reduced<bool>(Reduction::all, values));
  values[2500] = 0;
  EXPECT_FALSE(reduced<bool>(Reduction::all, values));
  EXPECT_TRUE(reduced<bool>(Reduction::any, values));
  EXPECT_EQ(reduced<std::int64_t>(Reduction::count_nonzero, values), 2999);
  EXPECT_FALSE(reduced<bool>(Reduction::any, std::vector<double>{0.0, -0.0}));
  EXPECT_TRUE(reduced<bool>(Reduction::any, std::vector<double>{0.0, nan}));
}

TEST(Reduce, VarianceSurvivesALargeMean) {
  const auto values = normal_numbers<double>(200000, 1e9);
  long double mean = 0, squares = 0;
  for (const double value : values) mean += value;
  mean /= static_cast<long double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  for (const std::size_t piece : {100, 4096, 200000}) {
    EXPECT_NEAR(reduced<double>(Reduction::moments, values, {Moment::mean, 0}, piece), static_cast<double>(mean), 1e-6);
    EXPECT_NEAR(reduced<double>(Reduction::moments, values, {Moment::var, 1}, piece),
                static_cast<double>(squares / (static_cast<long double>(values.size()) - 1)), 1e-9);
  }
  EXPECT_NEAR(reduced<double>(Reduction::moments, values, {Moment::std, 0}),
              std::sqrt(static_cast<double>(squares / static_cast<long double>(values.size()))), 1e-9);
}

TEST(Reduce, VarianceOfFewerThanTheCorrectionIsNanOrInfinite) {
  EXPECT_TRUE(std::isnan(reduced<double>(Reduction::moments, std::vector<double>{3}, {Moment::var, 1})));
  EXPECT_EQ(reduced<double>(Reduction::moments, std::vector<double>{3, 4}, {Moment::var, 5}), infinity);
}

TEST(Reduce, Float16IsHeldWide) {
  const std::vector<std::uint16_t> ones(5000, to_float16(1.0f).bits);
  const auto state = state_of(Reduction::sum, DType::float16, ones, 1000, best_simd());
  float sum;
  finish(Reduction::sum, DType::float16, raw(state), 1, reinterpret_cast<std::byte*>(&sum), DType::float32, {});
  EXPECT_EQ(sum, 5000);
  EXPECT_EQ(reduced_dtype(Reduction::sum, DType::float16), DType::float16);
}

TEST(Reduce, BoolsOfAnyByteCountAsOne) {
  const std::vector<std::uint8_t> bytes = {0, 2, 255, 1, 0};
  std::int64_t sum = 0, first = 0;
  auto state = state_of(Reduction::sum, DType::bool_, bytes, 2, best_simd());
  finish(Reduction::sum, DType::bool_, raw(state), 1, reinterpret_cast<std::byte*>(&sum), DType::int64, {});
  EXPECT_EQ(sum, 3);
  state = state_of(Reduction::argmax, DType::bool_, bytes, 5, best_simd());
  finish(Reduction::argmax, DType::bool_, raw(state), 1, reinterpret_cast<std::byte*>(&first), DType::int64, {});
  EXPECT_EQ(first, 1);
}

TEST(Reduce, RowsGiveWhatColumnsGiveAlone) {
  constexpr std::size_t columns = 300, rows = 150;
  const auto values = normal_numbers<float>(columns * rows);
  const auto sums = reduced_rows<double>(Reduction::sum, values, columns, 64);
  const auto greatest = reduced_rows<float>(Reduction::max, values, columns, 10);
  const auto places = reduced_rows<std::int64_t>(Reduction::argmin, values, columns, 33);
  const auto variances = reduced_rows<double>(Reduction::moments, values, columns, 100, {Moment::var, 0});
  const auto counts = reduced_rows<std::int64_t>(Reduction::count_nonzero, values, columns, 64);
  for (std::size_t j = 0; j < columns; ++j) {
    std::vector<float> column(rows);
    for (std::size_t i = 0; i < rows; ++i) column[i] = values[i * columns + j];
    EXPECT_NEAR(sums[j], reduced<double>(Reduction::sum, column), 1e-12);
    EXPECT_EQ(greatest[j], reduced<float>(Reduction::max, column));
    EXPECT_EQ(places[j], reduced<std::int64_t>(Reduction::argmin, column));
    EXPECT_NEAR(variances[j], reduced<double>(Reduction::moments, column, {Moment::var, 0}), 1e-12);
    EXPECT_EQ(counts[j], static_cast<std::int64_t>(rows));
  }
}

TEST(Reduce, StatesHaveTheSameBitsInEveryBuild) {
  const auto bytes = normal_numbers<double>(12345, 3);
  for (std::size_t r = 0; r < reduction_count; ++r) {
    for (std::size_t d = 0; d < dtype_count; ++d) {
      const auto reduction = static_cast<Reduction>(r);
      const auto in = static_cast<DType>(d);
      const ReduceKernel* baseline = reduce_kernel(reduction, in, Simd::baseline);
      if (baseline == nullptr) {
        EXPECT_EQ(in, DType::bfloat16);
        continue;
      }
      // The bytes of the doubles, taken as what they are not: 1000 columns of ten rows, and one run.
      const std::size_t words = baseline->state_bytes / 8;
      const auto states = [&](Simd simd) {
        const ReduceKernel* kernel = reduce_kernel(reduction, in, simd);
        std::vector<std::uint64_t> found(words * 1001);
        kernel->init(raw(found), 1001);
        const std::size_t stride = 1000 * itemsize(in), fitting = bytes.size() * 8 / stride;
        kernel->rows(raw(found) + kernel->state_bytes, raw(bytes), 1000, std::min<std::size_t>(fitting, 10), stride, 0,
                     1);
        kernel->run(raw(found), raw(bytes), 3001, 0);
        std::vector<double> values;
        std::vector<std::complex<double>> out(1001);
        finish(reduction, in, raw(found), 1001, raw(out), DType::complex128, {Moment::var, 0});
        for (const auto& value : out) values.insert(values.end(), {value.real(), value.imag()});
        return values;
      };
      const auto wanted = states(Simd::baseline);
      for (const Simd simd : simds_here()) {
        const auto got = states(simd);
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_TRUE(std::memcmp(&got[i], &wanted[i], sizeof got[i]) == 0 ||
                      (std::isnan(got[i]) && std::isnan(wanted[i])))
              << "reduction " << r << " of " << name(in) << ", simd " << static_cast<int>(simd) << ": " << got[i]
              << ", not " << wanted[i];
      }
    }
  }
}

}  // namespace
}  // namespace lowtide
