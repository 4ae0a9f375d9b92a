// The functions of floats against libm's in the next wider type, over all bit patterns and where they are hard.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>
#include <string>

#include "lowtide/kernels/strip_call.h"

namespace lowtide {
namespace {

template <class T>
using Wider = std::conditional_t<sizeof(T) == 4, double, long double>;

// Distance in units of the last place of the right value; infinity for a wrong NaN, infinity or sign of zero.
template <class T>
double error_ulps(T got, Wider<T> right) {
  constexpr double wrong = std::numeric_limits<double>::infinity();
  using Limits = std::numeric_limits<T>;
  const T rounded = static_cast<T>(right);
  if (std::isnan(right)) return std::isnan(got) ? 0 : wrong;
  if (std::isnan(got)) return wrong;
  if (std::isinf(rounded) || std::isinf(got)) {
    const T other = std::isinf(rounded) ? got : rounded;
    return got == rounded ? 0 : std::fabs(other) == Limits::max() ? 1 : wrong;
  }
  if (rounded == 0 && got == 0) return std::signbit(rounded) == std::signbit(got) ? 0 : wrong;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int last_place = std::max(exponent, Limits::min_exponent) - Limits::digits;
  return static_cast<double>(std::fabs(static_cast<Wider<T>>(got) - right) / std::ldexp(Wider<T>{1}, last_place));
}

template <class T>
std::vector<T> hard_values(unsigned seed) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  using Limits = std::numeric_limits<T>;
  constexpr int count = 4000;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<T> values = {0,
                           -T(0),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           1,
                           -1,
                           2,
                           -2,
                           T(0.5),
                           -T(0.5),
                           Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           -Limits::denorm_min(),
                           T(1) + Limits::epsilon(),
                           T(-1) + Limits::epsilon()};
  for (int i = 0; i < 4 * count; ++i) {
    const Bits bits = static_cast<Bits>(random());
    T value;
    std::memcpy(&value, &bits, sizeof value);
    // A signalling NaN is no value NumPy makes.
    values.push_back(std::isnan(value) ? Limits::quiet_NaN() : value);
  }
  for (const double range : {1.0, 2.0, 10.0, 100.0, 750.0, 1e3, 1e4, 1e5, 1e8, 0.1, 1e-4, 1e-8})
    for (int i = 0; i < count; ++i) values.push_back(static_cast<T>(unit(random) * range));
  for (int i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(1 + unit(random) * 0.01));
    values.push_back(static_cast<T>(-1 + unit(random) * 0.01));
    values.push_back(static_cast<T>(std::nearbyint(unit(random) * 100) * (M_PI / 4)));
    values.push_back(static_cast<T>(std::nearbyint(unit(random) * 1e6) * (M_PI / 2)));
  }
  const double overflow = sizeof(T) == 4 ? 88 : 709, underflow = sizeof(T) == 4 ? -96 : -727;
  for (int i = 0; i < count; ++i) {
    values.push_back(static_cast<T>(overflow + 3 * unit(random)));
    values.push_back(static_cast<T>(underflow + 20 * unit(random)));
    values.push_back(static_cast<T>((overflow + 3 * unit(random)) / M_LN2));
    values.push_back(static_cast<T>((underflow + 20 * unit(random)) / M_LN2));
  }
  // Neighbours of like size share a batch, and so the path it takes.
  std::sort(values.begin() + 17, values.end(), [](T a, T b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
  return values;
}

struct Function {
  Op op;
  double (*in_double)(double);
  long double (*in_long_double)(long double);
};

#define LOWTIDE_FUNCTION(name)                                                                  \
  Function {                                                                                    \
    Op::name, [](double x) { return std::name(x); }, [](long double x) { return std::name(x); } \
  }
const Function functions[] = {LOWTIDE_FUNCTION(sqrt),  LOWTIDE_FUNCTION(cbrt),  LOWTIDE_FUNCTION(exp),
                              LOWTIDE_FUNCTION(exp2),  LOWTIDE_FUNCTION(expm1), LOWTIDE_FUNCTION(log),
                              LOWTIDE_FUNCTION(log2),  LOWTIDE_FUNCTION(log10), LOWTIDE_FUNCTION(log1p),
                              LOWTIDE_FUNCTION(sin),   LOWTIDE_FUNCTION(cos),   LOWTIDE_FUNCTION(tan),
                              LOWTIDE_FUNCTION(asin),  LOWTIDE_FUNCTION(acos),  LOWTIDE_FUNCTION(atan),
                              LOWTIDE_FUNCTION(sinh),  LOWTIDE_FUNCTION(cosh),  LOWTIDE_FUNCTION(tanh),
                              LOWTIDE_FUNCTION(asinh), LOWTIDE_FUNCTION(acosh), LOWTIDE_FUNCTION(atanh)};
#undef LOWTIDE_FUNCTION

double right(const Function& function, float x) { return function.in_double(x); }
long double right(const Function& function, double x) { return function.in_long_double(x); }

// LOWTIDE_ULPS=1 prints the table of errors.
void report(Op op, const char* dtype, Simd simd, double worst) {
  if (std::getenv("LOWTIDE_ULPS") != nullptr)
    std::cout << facts(op).name << ' ' << dtype << " simd " << static_cast<int>(simd) << ": " << worst << " ulp\n";
}

// libm's own cbrt errs by 3.1.
constexpr double bound = 3.2;

template <class T>
void expect_close_to_libm(const char* dtype) {
  const std::vector<T> values = hard_values<T>(1);
  for (const Simd simd : simds_here()) {
    for (const Function& function : functions) {
      const std::vector<T> got = call<T>(function.op, {values}, simd);
      double worst = -1;
      std::size_t at = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double error = error_ulps<T>(got[i], right(function, values[i]));
        if (error > worst) worst = error, at = i;
      }
      report(function.op, dtype, simd, worst);
      EXPECT_LE(worst, bound) << facts(function.op).name << " of " << values[at] << " is " << got[at] << ", simd "
                              << static_cast<int>(simd);
    }
  }
}

TEST(VectorMath, OfFloat32IsWithin4UlpOfLibmInFloat64) { expect_close_to_libm<float>("float32"); }

TEST(VectorMath, OfFloat64IsWithin4UlpOfLibmInLongDouble) { expect_close_to_libm<double>("float64"); }

// The float64 nearest to a multiple of pi/2 for its size, where libm itself errs by 8 units. Expected: mpmath.
TEST(VectorMath, TheHardestArgumentIsReducedInFull) {
  const std::vector<double> x(9, std::ldexp(6381956970095103.0, 797));
  for (const Simd simd : simds_here()) {
    EXPECT_NEAR(call<double>(Op::cos, {x}, simd)[8], -4.687165924254627611e-19, 1e-33);
    EXPECT_NEAR(call<double>(Op::sin, {x}, simd)[0], 1.0, 1e-15);
    EXPECT_NEAR(call<double>(Op::tan, {x}, simd)[4], -2133485385753703843.67, 1e4);
  }
}

template <class T>
void expect_two_close(Op op, Wider<T> (*right_value)(Wider<T>, Wider<T>), const char* dtype) {
  std::vector<T> x = hard_values<T>(2), y = hard_values<T>(3);
  std::mt19937 random(5);
  std::shuffle(y.begin(), y.end(), random);
  std::uniform_real_distribution<double> unit(-1, 1);
  // Pairs of ordinary size, and of whole numbers, which random bits do not give.
  for (int i = 0; i < 20000; ++i) {
    x.push_back(static_cast<T>(std::exp(20 * unit(random))));
    y.push_back(static_cast<T>(30 * unit(random)));
    x.push_back(static_cast<T>(std::nearbyint(30 * unit(random))));
    y.push_back(static_cast<T>(std::nearbyint(30 * unit(random))));
    x.push_back(static_cast<T>(1 + 1e-3 * unit(random)));
    y.push_back(static_cast<T>(1e6 * unit(random)));
  }
  const T specials[] = {0,
                        -T(0),
                        1,
                        -1,
                        T(0.5),
                        3,
                        -3,
                        std::numeric_limits<T>::infinity(),
                        -std::numeric_limits<T>::infinity(),
                        std::numeric_limits<T>::quiet_NaN()};
  for (const T a : specials)
    for (const T b : specials) x.push_back(a), y.push_back(b);
  for (const Simd simd : simds_here()) {
    const std::vector<T> got = call<T>(op, {x, y}, simd);
    double worst = -1;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = error_ulps<T>(got[i], right_value(x[i], y[i]));
      if (error > worst) worst = error, at = i;
    }
    report(op, dtype, simd, worst);
    EXPECT_LE(worst, bound) << facts(op).name << " of " << x[at] << " and " << y[at] << " is " << got[at] << ", simd "
                            << static_cast<int>(simd);
  }
}

TEST(VectorMath, PowIsWithin4UlpEverywhere) {
  expect_two_close<float>(Op::pow, [](double x, double y) { return std::pow(x, y); }, "float32");
  expect_two_close<double>(Op::pow, [](long double x, long double y) { return std::pow(x, y); }, "float64");
}

TEST(VectorMath, Atan2IsWithin4UlpEverywhere) {
  expect_two_close<float>(Op::atan2, [](double y, double x) { return std::atan2(y, x); }, "float32");
  expect_two_close<double>(Op::atan2, [](long double y, long double x) { return std::atan2(y, x); }, "float64");
}

TEST(VectorMath, HypotIsWithin4UlpEverywhere) {
  expect_two_close<float>(Op::hypot, [](double x, double y) { return std::hypot(x, y); }, "float32");
  expect_two_close<double>(Op::hypot, [](long double x, long double y) { return std::hypot(x, y); }, "float64");
}

TEST(VectorMath, PowOfWholeNumbersIsExactWhereTheResultIs) {
  for (const Simd simd : simds_here()) {
    for (int base = -20; base <= 20; ++base) {
      double product = 1;
      for (int exponent = 0; std::fabs(product) < 0x1p53; ++exponent, product *= base) {
        const std::vector<double> x = {static_cast<double>(base)}, y = {static_cast<double>(exponent)};
        EXPECT_EQ(call<double>(Op::pow, {x, y}, simd)[0], product) << base << "**" << exponent;
        if (base * base <= 1 && exponent > 4) break;
      }
    }
  }
}

// The sum's own rounding is that of its larger operand, as in NumPy's formula: near 0 nothing is promised in units of it.
template <class T>
void expect_log_sums(Op op, Wider<T> (*function)(Wider<T>, Wider<T>)) {
  const std::vector<T> x = hard_values<T>(6);
  std::vector<T> y = hard_values<T>(7);
  for (const Simd simd : simds_here()) {
    const std::vector<T> got = call<T>(op, {x, y}, simd);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Wider<T> wanted = function(x[i], y[i]);
      if (std::isnan(wanted) || std::isinf(static_cast<T>(wanted))) {
        EXPECT_EQ(std::isnan(got[i]), std::isnan(wanted)) << x[i] << ' ' << y[i];
        if (!std::isnan(wanted)) {
          EXPECT_EQ(got[i], static_cast<T>(wanted)) << x[i] << ' ' << y[i];
        }
      } else {
        const Wider<T> size = std::max<Wider<T>>({1, std::fabs(x[i]), std::fabs(wanted)});
        EXPECT_LE(std::fabs(got[i] - wanted), 4 * size * std::numeric_limits<T>::epsilon()) << x[i] << ' ' << y[i];
      }
    }
  }
}

template <class Number>
Number log_add_exp(Number x, Number y) {
  if (x == y) return x + std::log(Number{2});
  return std::isnan(x - y) ? x - y : std::max(x, y) + std::log1p(std::exp(-std::fabs(x - y)));
}
template <class Number>
Number log_add_exp2(Number x, Number y) {
  if (x == y) return x + 1;
  return std::isnan(x - y) ? x - y : std::max(x, y) + std::log1p(std::exp2(-std::fabs(x - y))) / std::log(Number{2});
}

TEST(VectorMath, LogAddExpFollowsNumpysFormula) {
  expect_log_sums<float>(Op::logaddexp, log_add_exp<double>);
  expect_log_sums<double>(Op::logaddexp, log_add_exp<long double>);
  expect_log_sums<float>(Op::logaddexp2, log_add_exp2<double>);
  expect_log_sums<double>(Op::logaddexp2, log_add_exp2<long double>);
}

template <class T>
void expect_same_everywhere() {
  std::vector<T> values = hard_values<T>(8);
  std::mt19937 random(9);
  std::shuffle(values.begin(), values.end(), random);
  for (const Simd simd : simds_here()) {
    for (const Function& function : functions) {
      const std::vector<T> all = call<T>(function.op, {values}, simd);
      for (std::size_t i = 0; i < 3000; ++i) {
        const std::vector<T> one = call<T>(function.op, {std::vector<T>{values[i]}}, simd);
        ASSERT_EQ(std::memcmp(&one[0], &all[i], sizeof one[0]), 0)
            << facts(function.op).name << " of " << values[i] << ", simd " << static_cast<int>(simd);
      }
    }
  }
}

TEST(VectorMath, AResultDoesNotDependOnItsNeighbours) {
  expect_same_everywhere<float>();
  expect_same_everywhere<double>();
}

}  // namespace
}  // namespace lowtide
