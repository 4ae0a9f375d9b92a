#include "lowtide/kernels/byteswap.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

namespace lowtide {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes swapped(DType dtype, std::size_t count, std::size_t shift = 0) {
  Bytes bytes(shift + count * itemsize(dtype));
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  byteswap(reinterpret_cast<std::byte*>(bytes.data()) + shift, dtype, count);
  return bytes;
}

// Expected: np.arange(n, dtype="u1").view(dtype).byteswap().view("u1").
TEST(Byteswap, ReversesEachItem) {
  EXPECT_EQ(swapped(DType::uint16, 3), (Bytes{1, 0, 3, 2, 5, 4}));
  EXPECT_EQ(swapped(DType::bfloat16, 1), (Bytes{1, 0}));
  EXPECT_EQ(swapped(DType::float32, 2), (Bytes{3, 2, 1, 0, 7, 6, 5, 4}));
  EXPECT_EQ(swapped(DType::float64, 1), (Bytes{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(Byteswap, ReversesTheHalvesOfComplexItemsApart) {
  EXPECT_EQ(swapped(DType::complex64, 1), (Bytes{3, 2, 1, 0, 7, 6, 5, 4}));
  EXPECT_EQ(swapped(DType::complex128, 1), (Bytes{7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8}));
}

TEST(Byteswap, LeavesSingleBytesAlone) {
  EXPECT_EQ(swapped(DType::uint8, 3), (Bytes{0, 1, 2}));
  EXPECT_EQ(swapped(DType::bool_, 2), (Bytes{0, 1}));
}

TEST(Byteswap, NeedsNoAlignmentAndTouchesOnlyItsItems) {
  EXPECT_EQ(swapped(DType::uint32, 1, 1), (Bytes{0, 4, 3, 2, 1}));
}

TEST(Byteswap, TwiceIsNothing) {
  Bytes bytes = swapped(DType::int64, 37);
  byteswap(reinterpret_cast<std::byte*>(bytes.data()), DType::int64, 37);
  Bytes expected(bytes.size());
  std::iota(expected.begin(), expected.end(), static_cast<unsigned char>(0));
  EXPECT_EQ(bytes, expected);
}

TEST(Byteswap, UnitsOfAnotherSizeAreRefused) {
  std::byte none{};
  EXPECT_THROW(byteswap(&none, std::size_t{3}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace lowtide
