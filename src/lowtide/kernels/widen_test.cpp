#include "lowtide/kernels/widen.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace lowtide {
namespace {

constexpr auto guard = std::byte{0xA5};

template <class T>
const std::byte* raw(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

template <class T>
std::byte* raw(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

template <class T>
std::vector<T> random_values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 bits(seed);
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(bits() >> bits() % 64);
  return values;
}

template <class From>
void expect_range_of(const std::vector<From>& values, TokenRange range) {
  std::int64_t least = 0;
  std::uint64_t greatest = 0;
  for (const From value : values) {
    if (value < From{0}) {
      least = std::min(least, static_cast<std::int64_t>(value));
    } else {
      greatest = std::max(greatest, static_cast<std::uint64_t>(value));
    }
  }
  EXPECT_EQ(range.least, least);
  EXPECT_EQ(range.greatest, greatest);
}

// Against a plain loop, from unaligned tokens into unaligned outputs with a byte on either side that must stay as it is.
template <class From, class To>
void expect_widened(const std::vector<From>& values) {
  SCOPED_TRACE(testing::Message() << name(dtype_of<From>) << " to " << name(dtype_of<To>) << " x " << values.size());
  const std::size_t from_bytes = values.size() * sizeof(From), to_bytes = values.size() * sizeof(To);
  std::vector<To> expected(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) expected[i] = static_cast<To>(values[i]);
  std::vector<std::byte> tokens = {guard};
  tokens.insert(tokens.end(), raw(values), raw(values) + from_bytes);
  std::vector<std::byte> written = {guard};
  written.insert(written.end(), raw(expected), raw(expected) + to_bytes);
  written.push_back(guard);
  const std::vector<std::byte> untouched(to_bytes + 2, guard);
  for (const bool to_x : {false, true}) {
    for (const bool to_y : {false, true}) {
      std::vector<std::byte> x = untouched, y = untouched;
      const TokenRange range = widen(tokens.data() + 1, dtype_of<From>, values.size(), to_x ? x.data() + 1 : nullptr,
                                     to_y ? y.data() + 1 : nullptr, dtype_of<To>);
      expect_range_of(values, range);
      EXPECT_EQ(x, to_x ? written : untouched);
      EXPECT_EQ(y, to_y ? written : untouched);
    }
  }
}

template <class From>
class Widen : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Widen, Integers);

TYPED_TEST(Widen, GivesWhatAPlainLoopGivesForEveryCount) {
  for (std::size_t count = 0; count < 140; ++count) {
    const auto values = random_values<TypeParam>(count, count);
    expect_widened<TypeParam, std::int64_t>(values);
    expect_widened<TypeParam, std::int32_t>(values);
    expect_widened<TypeParam, std::uint16_t>(values);
  }
  expect_widened<TypeParam, std::int64_t>(random_values<TypeParam>(100'003, 1));
}

TYPED_TEST(Widen, FindsTheExtremesAtEveryPlace) {
  using Limits = std::numeric_limits<TypeParam>;
  std::vector<std::int64_t> x(67), y(67);
  for (std::size_t place = 0; place < x.size(); ++place) {
    for (const TypeParam extreme : {Limits::min(), Limits::max()}) {
      std::vector<TypeParam> values(x.size(), TypeParam{3});
      values[place] = extreme;
      expect_range_of(values, widen(raw(values), dtype_of<TypeParam>, values.size(), raw(x), raw(y), DType::int64));
    }
  }
}

TEST(WidenTokens, GivesTheInputsAndTheSameShiftedByOne) {
  const std::vector<std::uint16_t> tokens = {50256, 11, 65535, 0, 7};
  std::vector<std::int64_t> x(4), y(4);
  widen(raw(tokens), DType::uint16, 1, raw(x), nullptr, DType::int64);
  const TokenRange range = widen(raw(tokens) + 2, DType::uint16, 3, raw(x) + 8, raw(y), DType::int64);
  widen(raw(tokens) + 8, DType::uint16, 1, nullptr, raw(y) + 24, DType::int64);
  EXPECT_EQ(x, (std::vector<std::int64_t>{50256, 11, 65535, 0}));
  EXPECT_EQ(y, (std::vector<std::int64_t>{11, 65535, 0, 7}));
  EXPECT_EQ(range.greatest, 65535u);
}

TEST(WidenTokens, StoresWhatDoesNotFitModuloTheTargetAndShowsItInTheRange) {
  const std::vector<std::int64_t> tokens = {-1, 65536, (1LL << 32) + 5, -(1LL << 40), INT64_MAX};
  std::vector<std::uint16_t> narrow(5);
  const TokenRange range = widen(raw(tokens), DType::int64, 5, raw(narrow), nullptr, DType::uint16);
  EXPECT_EQ(narrow, (std::vector<std::uint16_t>{65535, 0, 5, 0, 65535}));
  EXPECT_EQ(range.least, -(1LL << 40));
  EXPECT_EQ(range.greatest, std::uint64_t{INT64_MAX});
}

TEST(WidenTokens, RangesHoldZeroSoThatTheyCanBeMerged) {
  const std::vector<std::int8_t> positive = {5, 6}, negative = {-5, -6};
  const TokenRange above = widen(raw(positive), DType::int8, 2, nullptr, nullptr, DType::int64);
  EXPECT_EQ(above.least, 0);
  EXPECT_EQ(above.greatest, 6u);
  const TokenRange below = widen(raw(negative), DType::int8, 2, nullptr, nullptr, DType::int64);
  EXPECT_EQ(below.least, -6);
  EXPECT_EQ(below.greatest, 0u);
}

TEST(WidenTokens, NothingIsTouchedForACountOfZero) {
  const TokenRange range = widen(nullptr, DType::int32, 0, nullptr, nullptr, DType::int64);
  EXPECT_EQ(range.least, 0);
  EXPECT_EQ(range.greatest, 0u);
}

TEST(WidenTokens, RefusesWhatIsNotATokenType) {
  std::byte memory[16] = {};
  for (const DType from : {DType::bool_, DType::float16, DType::float64, DType::complex64})
    EXPECT_THROW(widen(memory, from, 1, memory + 8, nullptr, DType::int64), std::invalid_argument);
  for (const DType to : {DType::bool_, DType::int8, DType::int16, DType::uint32, DType::uint64, DType::float32})
    EXPECT_THROW(widen(memory, DType::uint16, 1, memory + 8, nullptr, to), std::invalid_argument);
}

}  // namespace
}  // namespace lowtide
