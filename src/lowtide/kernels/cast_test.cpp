#include "lowtide/kernels/cast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "lowtide/kernels/cast_hashes.h"

namespace lowtide {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
const std::byte* raw(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

template <class To, class From>
std::vector<To> casted(const std::vector<From>& values, DType from, DType to) {
  const std::size_t count = values.size() * sizeof(From) / itemsize(from);
  std::vector<To> result(count * itemsize(to) / sizeof(To));
  cast(raw(values), from, reinterpret_cast<std::byte*>(result.data()), to, count);
  return result;
}

template <class To, class From>
std::vector<To> casted(const std::vector<From>& values) {
  return casted<To>(values, dtype_of<From>, dtype_of<To>);
}

std::vector<std::uint16_t> bits_from(const std::vector<double>& values, DType to) {
  return casted<std::uint16_t>(values, DType::float64, to);
}

// Expected values: np.array([x]).astype(dtype), NumPy 2.4.6 on x86-64.
const std::vector<double> awkward = {nan,          infinity, -infinity,    300.7,        -1.5,          127.9,
                                     -129.0,       65536.0,  2147483647.0, 2147483648.0, -2147483649.0, 4294967295.0,
                                     4294967296.0, 9.3e18,   1e20,         -1e20};

TEST(Cast, FloatToSmallIntegersGoesThroughA32BitTruncation) {
  EXPECT_EQ(casted<std::int8_t>(awkward),
            (std::vector<std::int8_t>{0, 0, 0, 44, -1, 127, 127, 0, -1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(casted<std::uint8_t>(awkward),
            (std::vector<std::uint8_t>{0, 0, 0, 44, 255, 127, 127, 0, 255, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(casted<std::uint16_t>(awkward),
            (std::vector<std::uint16_t>{0, 0, 0, 300, 65535, 127, 65407, 0, 65535, 0, 0, 0, 0, 0, 0, 0}));
  const std::int32_t low = INT32_MIN;
  EXPECT_EQ(casted<std::int32_t>(awkward), (std::vector<std::int32_t>{low, low, low, 300, -1, 127, -129, 65536,
                                                                      2147483647, low, low, low, low, low, low, low}));
}

TEST(Cast, FloatToLargeIntegersGoesThroughA64BitTruncation) {
  EXPECT_EQ(casted<std::uint32_t>(awkward),
            (std::vector<std::uint32_t>{0, 0, 0, 300, 4294967295, 127, 4294967167, 65536, 2147483647, 2147483648,
                                        2147483647, 4294967295, 0, 0, 0, 0}));
  const std::int64_t low = INT64_MIN;
  EXPECT_EQ(casted<std::int64_t>(awkward),
            (std::vector<std::int64_t>{low, low, low, 300, -1, 127, -129, 65536, 2147483647, 2147483648, -2147483649,
                                       4294967295, 4294967296, low, low, low}));
  const std::uint64_t high = 1ULL << 63;
  EXPECT_EQ(casted<std::uint64_t>(awkward),
            (std::vector<std::uint64_t>{high, 0, high, 300, 18446744073709551615ULL, 127, 18446744073709551487ULL,
                                        65536, 2147483647, 2147483648, 18446744071562067967ULL, 4294967295, 4294967296,
                                        9300000000000000000ULL, 0, high}));
}

TEST(Cast, AnythingButZeroIsTrue) {
  EXPECT_EQ(casted<std::uint8_t>(std::vector<double>{0.0, -0.0, nan, 1e-320, 2.0}, DType::float64, DType::bool_),
            (std::vector<std::uint8_t>{0, 0, 1, 1, 1}));
  EXPECT_EQ(
      casted<std::uint8_t>(std::vector<std::complex<float>>{{0, 0}, {0, 1}, {1, 0}}, DType::complex64, DType::bool_),
      (std::vector<std::uint8_t>{0, 1, 1}));
}

TEST(Cast, AnyBoolByteButZeroCountsAsOne) {
  const std::vector<std::uint8_t> bytes = {0, 1, 2, 255};
  EXPECT_EQ(casted<std::int32_t>(bytes, DType::bool_, DType::int32), (std::vector<std::int32_t>{0, 1, 1, 1}));
  EXPECT_EQ(casted<float>(bytes, DType::bool_, DType::float32), (std::vector<float>{0, 1, 1, 1}));
  EXPECT_EQ(casted<std::uint8_t>(bytes, DType::bool_, DType::bool_), bytes);
}

TEST(Cast, IntegersWrapModuloTheirSize) {
  EXPECT_EQ(casted<std::int8_t>(std::vector<std::int32_t>{128, -129, 300}), (std::vector<std::int8_t>{-128, 127, 44}));
  EXPECT_EQ(casted<std::uint64_t>(std::vector<std::int8_t>{-1}), std::vector<std::uint64_t>{UINT64_MAX});
}

TEST(Cast, ComplexToRealDropsTheImaginaryPart) {
  EXPECT_EQ(casted<std::int16_t>(std::vector<std::complex<double>>{{3.7, 9}, {-1, nan}}),
            (std::vector<std::int16_t>{3, -1}));
  EXPECT_EQ(casted<std::complex<float>>(std::vector<std::int16_t>{-7}), (std::vector<std::complex<float>>{{-7, 0}}));
}

// Expected values: np.array(x).astype("f2").view("u2").
TEST(Cast, DoubleToFloat16RoundsOnceToEven) {
  EXPECT_EQ(bits_from({1 + 0x1p-11, 1 + 3 * 0x1p-11, 1 + 0x1p-11 + 0x1p-40, 65519.99, 65520.0, -1e300, 0x1p-24, 0x1p-25,
                       0x1.8p-24, 0x1.0000000001p-25, 0x1.ffcp-15, 0x1.fffp-15, -0.0},
                      DType::float16),
            (std::vector<std::uint16_t>{0x3C00, 0x3C02, 0x3C01, 0x7BFF, 0x7C00, 0xFC00, 0x0001, 0x0000, 0x0002, 0x0001,
                                        0x0400, 0x0400, 0x8000}));
}

TEST(Cast, NansStayNansAndKeepTheirSign) {
  EXPECT_EQ(bits_from({nan, -nan}, DType::float16), (std::vector<std::uint16_t>{0x7E00, 0xFE00}));
  EXPECT_EQ(bits_from({nan, -nan}, DType::bfloat16), (std::vector<std::uint16_t>{0x7FC0, 0xFFC0}));
  const std::vector<std::uint32_t> payloads = {0x7F800001, 0x7FA00000, 0xFFC12345};
  EXPECT_EQ(casted<std::uint16_t>(payloads, DType::float32, DType::float16),
            (std::vector<std::uint16_t>{0x7C01, 0x7D00, 0xFE09}));
  EXPECT_EQ(casted<std::uint16_t>(payloads, DType::float32, DType::bfloat16),
            (std::vector<std::uint16_t>{0x7FC0, 0x7FC0, 0xFFC0}));
}

TEST(Cast, WideTypesToBfloat16RoundOnce) {
  EXPECT_EQ(bits_from({1 + 0x1p-8, 1 + 3 * 0x1p-8, 1 + 0x1p-8 + 0x1p-30, 0x1p-133, 0x1p-134, 0x1.8p-133, 1e300},
                      DType::bfloat16),
            (std::vector<std::uint16_t>{0x3F80, 0x3F82, 0x3F81, 0x0001, 0x0000, 0x0002, 0x7F80}));
  const std::vector<std::int64_t> integers = {(1LL << 62) + (1LL << 54), (1LL << 62) + (1LL << 54) + 1, INT64_MIN};
  EXPECT_EQ(casted<std::uint16_t>(integers, DType::int64, DType::bfloat16),
            (std::vector<std::uint16_t>{0x5E80, 0x5E81, 0xDF00}));
}

TEST(Cast, EveryFloat16SurvivesFloat32AndFloat64) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  const auto singles = casted<float>(halves, DType::float16, DType::float32);
  EXPECT_EQ(casted<std::uint16_t>(singles, DType::float32, DType::float16), halves);
  EXPECT_EQ(singles[0x0001], 0x1p-24f);
  EXPECT_EQ(singles[0x7BFF], 65504.0f);
  for (auto& bits : halves) bits |= (bits & 0x7C00) == 0x7C00 && (bits & 0x3FF) != 0 ? 0x200 : 0;  // x86 quiets NaNs
  const auto doubles = casted<double>(halves, DType::float16, DType::float64);
  EXPECT_EQ(casted<std::uint16_t>(doubles, DType::float64, DType::float16), halves);
}

// The inputs of tools/make_cast_hashes.py.
std::uint64_t mixed(std::uint64_t n) {
  std::uint64_t z = (n + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

std::uint64_t float_bits(std::uint64_t n, unsigned mantissa_bits, unsigned exponent_bits) {
  std::uint64_t bits = mixed(n) >> (63 - mantissa_bits - exponent_bits);
  const std::uint64_t exponent_mask = ((1ULL << exponent_bits) - 1) << mantissa_bits;
  if (n % 2 == 1 && exponent_bits > 5) {
    const std::uint64_t exponent = (1ULL << (exponent_bits - 1)) - 31 + mixed(n + 1) % 100;
    bits = (bits & ~exponent_mask) | exponent << mantissa_bits;
  }
  if ((bits & exponent_mask) == exponent_mask) bits &= ~((1ULL << mantissa_bits) - 1);
  return bits;
}

constexpr std::size_t input_count = 2048;

std::vector<std::byte> inputs(DType dtype) {
  const bool complex = dtype == DType::complex64 || dtype == DType::complex128;
  const std::size_t unit_bytes = itemsize(dtype) / (complex ? 2 : 1);
  std::vector<std::byte> result(input_count * itemsize(dtype));
  for (std::size_t n = 0; n < result.size() / unit_bytes; ++n) {
    std::uint64_t bits = mixed(n) >> n % 64;
    if (dtype == DType::float16) bits = float_bits(n, 10, 5);
    if (dtype == DType::bfloat16) bits = float_bits(n, 7, 8);
    if (dtype == DType::float32 || dtype == DType::complex64) bits = float_bits(n, 23, 8);
    if (dtype == DType::float64 || dtype == DType::complex128) bits = float_bits(n, 52, 11);
    std::memcpy(result.data() + n * unit_bytes, &bits, unit_bytes);
  }
  return result;
}

std::uint64_t fnv1a(const std::vector<std::byte>& bytes) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001B3;
  return hash;
}

TEST(Cast, EveryPairOfDtypesAgreesWithNumPy) {
  for (std::size_t f = 0; f < dtype_count; ++f) {
    const auto from = static_cast<DType>(f);
    const auto values = inputs(from);
    for (std::size_t t = 0; t < dtype_count; ++t) {
      const auto to = static_cast<DType>(t);
      EXPECT_EQ(fnv1a(casted<std::byte>(values, from, to)), cast_hashes[f][t]) << name(from) << " to " << name(to);
    }
  }
}

TEST(Cast, NeedsNoAlignment) {
  std::vector<std::byte> src(1 + 8 * 5), dst(1 + 4 * 5);
  const std::array<double, 5> values = {1, 2, 3, 4, 5};
  std::memcpy(src.data() + 1, values.data(), sizeof values);
  cast(src.data() + 1, DType::float64, dst.data() + 1, DType::float32, 5);
  float last = 0;
  std::memcpy(&last, dst.data() + 1 + 4 * 4, 4);
  EXPECT_EQ(last, 5.0f);
}

TEST(Cast, NothingIsTouchedForACountOfZero) { cast(nullptr, DType::float64, nullptr, DType::int8, 0); }

}  // namespace
}  // namespace lowtide
