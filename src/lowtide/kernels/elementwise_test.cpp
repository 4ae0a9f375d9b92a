// Expected values: NumPy 2.4.6 on x86-64.
#include "lowtide/kernels/elementwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <sstream>

#include "lowtide/kernels/half.h"
#include "lowtide/kernels/strip_call.h"

namespace lowtide {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// NumPy's character codes in the order of DType; bfloat16 has none.
constexpr std::string_view codes = "?bhilBHILe_fdFD";

struct Loops {
  const char *inputs, *outputs, *names;
};
// Every ufunc.types with inputs of one dtype.
constexpr Loops numpy_loops[] = {
    {"?bhilBHILefdFD", "?bhilBHILefdfd", "abs"},
    {"bhilBHILefdFD", "bhilBHILefdFD", "negative positive sign square reciprocal conj subtract pow"},
    {"efdFD", "efdFD",
     "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh divide"},
    {"efd", "efd", "cbrt deg2rad rad2deg spacing atan2 hypot logaddexp logaddexp2 copysign nextafter heaviside"},
    {"?bhilBHILefd", "?bhilBHILefd", "floor ceil trunc"},
    {"?bhilBHIL", "?bhilBHIL", "bitwise_invert bitwise_and bitwise_or bitwise_xor"},
    {"bhilBHIL", "BBBBBBBB", "bitwise_count"},
    {"?bhilBHILefdFD", "??????????????",
     "logical_not isnan isinf isfinite logical_and logical_or logical_xor equal not_equal less less_equal greater "
     "greater_equal"},
    {"efd", "???", "signbit"},
    {"?bhilBHILefdFD", "?bhilBHILefdFD", "add multiply maximum minimum fmax fmin"},
    {"bhilBHILefd", "bhilBHILefd", "floor_divide remainder fmod"},
    {"bhilBHIL", "bhilBHIL", "gcd lcm bitwise_left_shift bitwise_right_shift"},
    // No ufuncs: np.round, np.real, np.imag, np.where.
    {"bhilBHILefdFD", "bhilBHILefdFD", "round"},
    {"?bhilBHILefdFD", "?bhilBHILefdfd", "real imag"},
    {"?bhilBHILefdFD", "?bhilBHILefdFD", "where"},
};

TEST(Elementwise, HasTheDtypesOfNumpysLoops) {
  std::size_t op_found = 0;
  for (const Loops& loops : numpy_loops) {
    std::istringstream names(loops.names);
    for (std::string name; names >> name; ++op_found) {
      const Op op = op_named(name).value();
      for (std::size_t i = 0; i < codes.size(); ++i) {
        const auto at = std::string_view(loops.inputs).find(codes[i]);
        const auto result = result_dtype(op, static_cast<DType>(i));
        ASSERT_EQ(result.has_value(), at != std::string_view::npos) << name << ' ' << codes[i];
        if (result) {
          EXPECT_EQ(codes[static_cast<std::size_t>(*result)], loops.outputs[at]) << name << ' ' << codes[i];
        }
      }
    }
  }
  EXPECT_EQ(op_found, op_count);
}

TEST(Elementwise, HasAKernelExactlyWhereThereIsAResult) {
  for (const Simd simd : simds_here())
    for (std::size_t op = 0; op < op_count; ++op)
      for (std::size_t in = 0; in < dtype_count; ++in)
        EXPECT_EQ(strip_kernel(static_cast<Op>(op), static_cast<DType>(in), simd) != nullptr,
                  result_dtype(static_cast<Op>(op), static_cast<DType>(in)).has_value())
            << facts(static_cast<Op>(op)).name << ' ' << name(static_cast<DType>(in));
}

using Int8s = std::vector<std::int8_t>;
using Int32s = std::vector<std::int32_t>;
using Int64s = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

TEST(Elementwise, IntegersWrap) {
  const Int32s most = {INT32_MAX, INT32_MIN, 65536}, more = {1, -1, 65536};
  EXPECT_EQ(call<std::int32_t>(Op::add, {most, more}), (Int32s{INT32_MIN, INT32_MAX, 131072}));
  EXPECT_EQ(call<std::int32_t>(Op::multiply, {most, more}), (Int32s{INT32_MAX, INT32_MIN, 0}));
  EXPECT_EQ(call<std::int8_t>(Op::abs, {Int8s{-128, -5, 5}}), (Int8s{-128, 5, 5}));
  EXPECT_EQ(call<std::int8_t>(Op::negative, {Int8s{-128, -5, 5}}), (Int8s{-128, 5, -5}));
  const std::vector<std::uint16_t> wide = {65535, 300};
  EXPECT_EQ(call<std::uint16_t>(Op::square, {wide}), (std::vector<std::uint16_t>{1, 24464}));
}

TEST(Elementwise, IntegerDivisionFollowsTheDivisorsSignAndSurvivesZero) {
  const Int64s a = {7, -7, 7, -7, 1, INT64_MIN, INT64_MIN, 0}, b = {2, 2, -2, -2, 0, -1, 3, 5};
  EXPECT_EQ(call<std::int64_t>(Op::floor_divide, {a, b}),
            (Int64s{3, -4, -4, 3, 0, INT64_MIN, -3074457345618258603, 0}));
  EXPECT_EQ(call<std::int64_t>(Op::remainder, {a, b}), (Int64s{1, 1, -1, -1, 0, 0, 1, 0}));
  EXPECT_EQ(call<std::int64_t>(Op::fmod, {a, b}), (Int64s{1, -1, 1, -1, 0, 0, -2, 0}));
  EXPECT_EQ(call<std::int32_t>(Op::reciprocal, {Int32s{0, 1, -1, 2}}), (Int32s{INT32_MIN, 1, -1, 0}));
  EXPECT_EQ(call<std::int8_t>(Op::reciprocal, {Int8s{0, 1, -1, 2}}), (Int8s{0, 1, -1, 0}));
}

TEST(Elementwise, ShiftsBeyondTheWidthGiveZeroOrTheSign) {
  const Int32s x = {1, -8, -8, 5, -1, 1}, by = {31, 1, 32, 40, -1, 32};
  EXPECT_EQ(call<std::int32_t>(Op::bitwise_left_shift, {x, by}), (Int32s{INT32_MIN, -16, 0, 0, 0, 0}));
  EXPECT_EQ(call<std::int32_t>(Op::bitwise_right_shift, {x, by}), (Int32s{0, -4, -1, 0, -1, 0}));
}

TEST(Elementwise, IntegerPowersDivisorsAndBits) {
  EXPECT_EQ(call<std::int8_t>(Op::pow, {Int8s{3, -2, 0, 2, 5}, Int8s{4, 3, 0, 7, 3}}), (Int8s{81, -8, 1, -128, 125}));
  EXPECT_EQ(call<std::int32_t>(Op::gcd, {Int32s{12, -12, 0, INT32_MIN}, Int32s{18, 18, 0, 6}}), (Int32s{6, 6, 0, 2}));
  EXPECT_EQ(call<std::int32_t>(Op::lcm, {Int32s{4, -4, 0}, Int32s{6, 6, 5}}), (Int32s{12, 12, 0}));
  EXPECT_EQ(call<std::uint8_t>(Op::bitwise_count, {Int32s{-1, 255, INT32_MIN}}), (std::vector<std::uint8_t>{1, 8, 1}));
}

// Bits, but any NaN for any other.
void expect_identical(const Doubles& got, const Doubles& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(std::isnan(wanted[i]) ? std::isnan(got[i])
                                      : got[i] == wanted[i] && std::signbit(got[i]) == std::signbit(wanted[i]))
        << i << ": " << got[i] << ", not " << wanted[i];
  }
}

TEST(Elementwise, FloatDivisionWithAWholeQuotientIsNumpys) {
  const Doubles a = {7, -7, 7, -7, 0.0, -0.0, 1, -1, infinity, 5, -5, 5, 1, 0, -1e-20, 6, 0.3, -0.3};
  const Doubles b = {2, 2, -2, -2, 3, 3, 0, 0, 2, infinity, infinity, -infinity, nan, 0, 1, 0.1, 0.1, 0.1};
  expect_identical(call<double>(Op::floor_divide, {a, b}),
                   {3, -4, -4, 3, 0.0, -0.0, infinity, -infinity, nan, 0.0, -1, -1, nan, nan, -1, 59, 2, -3});
  expect_identical(call<double>(Op::remainder, {a, b}),
                   {1, 1, -1, -1, 0.0, 0.0, nan, nan, nan, 5, infinity, -infinity, nan, nan, 1, 0.09999999999999967,
                    0.09999999999999998, 2.7755575615628914e-17});
  expect_identical(call<double>(Op::fmod, {a, b}), {1, -1, 1, -1, 0.0, -0.0, nan, nan, nan, 5, -5, 5, nan, nan, -1e-20,
                                                    0.09999999999999967, 0.09999999999999998, -0.09999999999999998});
}

TEST(Elementwise, MaximumPropagatesNanAndFmaxIgnoresIt) {
  const Doubles a = {1, nan, 2, nan, 0.0, -0.0}, b = {2, 1, nan, nan, -0.0, 0.0};
  expect_identical(call<double>(Op::maximum, {a, b}), {2, nan, nan, nan, -0.0, 0.0});
  expect_identical(call<double>(Op::minimum, {a, b}), {1, nan, nan, nan, -0.0, 0.0});
  expect_identical(call<double>(Op::fmax, {a, b}), {2, 1, 2, nan, -0.0, 0.0});
  expect_identical(call<double>(Op::fmin, {a, b}), {1, 1, 2, nan, -0.0, 0.0});
}

TEST(Elementwise, FloatsRoundHalfToEvenAndKeepTheSignOfZero) {
  const Doubles x = {0.5, 1.5, 2.5, -0.5, -1.5, -0.2, nan, infinity};
  expect_identical(call<double>(Op::round, {x}), {0, 2, 2, -0.0, -2, -0.0, nan, infinity});
  expect_identical(call<double>(Op::floor, {x}), {0, 1, 2, -1, -2, -1, nan, infinity});
  expect_identical(call<double>(Op::ceil, {x}), {1, 2, 3, -0.0, -1, -0.0, nan, infinity});
  expect_identical(call<double>(Op::sign, {Doubles{3, -0.0, 0.0, -2, nan}}), {1, 0.0, 0.0, -1, nan});
  expect_identical(call<double>(Op::heaviside, {Doubles{-1, 0, 2, nan}, Doubles{5, 0.5, 5, 5}}), {0, 0.5, 1, nan});
  expect_identical(call<double>(Op::spacing, {Doubles{1, -1, 0, infinity, -0.0}}),
                   {0x1p-52, -0x1p-52, 0x1p-1074, nan, 0x1p-1074});
}

using Complex = std::complex<double>;
using Complexes = std::vector<Complex>;
using Bytes = std::vector<std::uint8_t>;

TEST(Elementwise, ComplexNumbersCompareLexicographically) {
  const Complexes a = {{1, 2}, {1, 2}, {2, nan}, {1, 1}}, b = {{1, 3}, {2, 0}, {1, 1}, {1, 1}};
  EXPECT_EQ(call<std::uint8_t>(Op::less, {a, b}), (Bytes{1, 1, 0, 0}));
  EXPECT_EQ(call<std::uint8_t>(Op::greater_equal, {a, b}), (Bytes{0, 0, 0, 1}));
  EXPECT_EQ(call<Complex>(Op::maximum, {a, b})[1], Complex(2, 0));
  EXPECT_TRUE(std::isnan(call<Complex>(Op::maximum, {a, b})[2].imag()));
  EXPECT_EQ(call<Complex>(Op::fmax, {a, b})[2], Complex(1, 1));
}

TEST(Elementwise, ComplexArithmeticIsNumpys) {
  EXPECT_EQ(call<Complex>(Op::multiply, {Complexes{{1, 2}}, Complexes{{3, -1}}})[0], Complex(5, 5));
  EXPECT_EQ(call<Complex>(Op::divide, {Complexes{{1, 2}}, Complexes{{3, -4}}})[0], Complex(-0.2, 0.4));
  EXPECT_EQ(call<Complex>(Op::sign, {Complexes{{3, 4}}})[0], Complex(0.6, 0.8));
  EXPECT_DOUBLE_EQ(call<double>(Op::abs, {Complexes{{3e200, -4e200}}})[0], 5e200);
  EXPECT_EQ(call<double>(Op::imag, {Complexes{{3, -4}}})[0], -4);
  EXPECT_EQ(call<Complex>(Op::sqrt, {Complexes{{-4, -0.0}}})[0], Complex(0, -2));
  EXPECT_EQ(call<Complex>(Op::pow, {Complexes{{1, 1}}, Complexes{{2, 0}}})[0], Complex(0, 2));
  EXPECT_EQ(call<Complex>(Op::pow, {Complexes{{0, 0}}, Complexes{{1, 1}}})[0], Complex(0, 0));
}

TEST(Elementwise, AnyByteButZeroIsTrueAndResultsAreZeroOrOne) {
  const Bytes a = {0, 1, 2, 255}, b = {0, 0, 1, 2};
  const auto booleans = [](Op op, std::initializer_list<Bytes> inputs) {
    return call_as<std::uint8_t>(op, DType::bool_, inputs, best_simd());
  };
  EXPECT_EQ(booleans(Op::add, {a, b}), (Bytes{0, 1, 1, 1}));
  EXPECT_EQ(booleans(Op::multiply, {a, b}), (Bytes{0, 0, 1, 1}));
  EXPECT_EQ(booleans(Op::equal, {a, b}), (Bytes{1, 0, 1, 1}));
  EXPECT_EQ(booleans(Op::less, {b, a}), (Bytes{0, 1, 0, 0}));
  EXPECT_EQ(booleans(Op::bitwise_xor, {a, b}), (Bytes{0, 1, 0, 0}));
  EXPECT_EQ(booleans(Op::maximum, {a, b}), (Bytes{0, 1, 1, 1}));
  EXPECT_EQ(booleans(Op::bitwise_invert, {a}), (Bytes{1, 0, 0, 0}));
  EXPECT_EQ(booleans(Op::real, {a}), (Bytes{0, 1, 1, 1}));
  EXPECT_EQ(booleans(Op::where, {a, a, b}), (Bytes{0, 1, 1, 1}));
}

TEST(Elementwise, Float16IsComputedInFloat32AndRoundedOnce) {
  std::vector<std::uint16_t> x(65536), y(65536);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::uint16_t>(i);
    y[i] = static_cast<std::uint16_t>(i * 40503u);
  }
  for (const Simd simd : simds_here()) {
    const auto product = call_as<std::uint16_t>(Op::multiply, DType::float16, {x, y}, simd);
    const auto root = call_as<std::uint16_t>(Op::sqrt, DType::float16, {x}, simd);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float a = to_float(Float16{x[i]}), b = to_float(Float16{y[i]});
      const float got_product = to_float(Float16{product[i]}), got_root = to_float(Float16{root[i]});
      if (std::isnan(a * b))
        EXPECT_TRUE(std::isnan(got_product));
      else
        EXPECT_EQ(product[i], to_float16(a * b).bits);
      if (std::isnan(std::sqrt(a)))
        EXPECT_TRUE(std::isnan(got_root));
      else
        EXPECT_EQ(root[i], to_float16(std::sqrt(a)).bits);
    }
  }
}

TEST(Elementwise, Float16NeighboursAreNumpys) {
  // np.spacing and np.nextafter(x, 0) of 1, -1, 65504, the least subnormal, 0, -1.5, 0.01.
  const std::vector<std::uint16_t> x = {0x3C00, 0xBC00, 0x7BFF, 0x0001, 0x0000, 0xBE00, 0x211F}, zero(7, 0);
  EXPECT_EQ(call_as<std::uint16_t>(Op::spacing, DType::float16, {x}, best_simd()),
            (std::vector<std::uint16_t>{0x1400, 0x1000, 0x7C00, 0x0001, 0x0001, 0x1400, 0x0080}));
  EXPECT_EQ(call_as<std::uint16_t>(Op::nextafter, DType::float16, {x, zero}, best_simd()),
            (std::vector<std::uint16_t>{0x3BFF, 0xBBFF, 0x7BFE, 0x0000, 0x0000, 0xBDFF, 0x211E}));
}

}  // namespace
}  // namespace lowtide
