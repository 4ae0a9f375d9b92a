#include "lowtide/kernels/odd_values.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <vector>

namespace lowtide {
namespace {

template <class T>
OddValues odd_in(const std::vector<T>& values, DType dtype) {
  OddValues odd;
  odd.count(reinterpret_cast<const std::byte*>(values.data()), dtype, values.size());
  return odd;
}

template <class Float>
void expect_two_nans_and_three_infinities(DType dtype) {
  constexpr Float nan = std::numeric_limits<Float>::quiet_NaN(), inf = std::numeric_limits<Float>::infinity();
  constexpr Float max = std::numeric_limits<Float>::max();
  const OddValues odd = odd_in<Float>({0, nan, inf, -inf, max, -nan, 1, -max, inf}, dtype);
  EXPECT_EQ(odd.nan_count, 2u);
  EXPECT_EQ(odd.inf_count, 3u);
}

TEST(OddValues, TellsNanAndInfinityFromTheLargestNumbers) {
  expect_two_nans_and_three_infinities<float>(DType::float32);
  expect_two_nans_and_three_infinities<double>(DType::float64);
}

// Bits from NumPy: np.array([65504, inf, -inf, nan], "f2").view("u2"), and the same of ml_dtypes' bfloat16.
TEST(OddValues, KnowsBothHalfFormats) {
  const OddValues f16 = odd_in<std::uint16_t>({0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x7F80}, DType::float16);
  EXPECT_EQ(f16.nan_count, 2u);
  EXPECT_EQ(f16.inf_count, 2u);
  const OddValues bf16 = odd_in<std::uint16_t>({0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x7C00}, DType::bfloat16);
  EXPECT_EQ(bf16.nan_count, 1u);
  EXPECT_EQ(bf16.inf_count, 2u);
}

TEST(OddValues, CountsAComplexElementOnce) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const OddValues odd = odd_in<std::complex<float>>({{nan, nan}, {1, nan}, {inf, nan}, {2, 3}}, DType::complex64);
  EXPECT_EQ(odd.nan_count, 3u);
  EXPECT_EQ(odd.inf_count, 1u);
}

TEST(OddValues, FindsBooleansThatAreNeither) {
  EXPECT_EQ(odd_in<unsigned char>({0, 1, 2, 255, 1}, DType::bool_).bad_bool_count, 2u);
}

}  // namespace
}  // namespace lowtide
