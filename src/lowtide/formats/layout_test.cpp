#include "lowtide/formats/layout.h"

#include <gtest/gtest.h>

#include <string>

#include "lowtide/error.h"

namespace lowtide {
namespace {

using Strides = std::vector<std::int64_t>;

Layout layout_of(Shape shape, DType dtype, Order order) {
  return Layout{.format = "raw", .dtype = dtype, .order = order, .shape = std::move(shape)};
}

// Expected strides: numpy.empty(shape, dtype, order).strides of NumPy 2.4.
TEST(Layout, StridesAreNumPysForBothOrders) {
  EXPECT_EQ(layout_of({2, 3, 4}, DType::int16, Order::c).strides_bytes(), (Strides{24, 8, 2}));
  EXPECT_EQ(layout_of({2, 3, 4}, DType::int16, Order::fortran).strides_bytes(), (Strides{2, 4, 12}));
  EXPECT_EQ(layout_of({}, DType::float64, Order::c).strides_bytes(), Strides{});
}

TEST(Layout, DataBytesIsTheProductOfExtentsAndItem) {
  EXPECT_EQ(layout_of({2, 3, 4}, DType::complex128, Order::c).data_bytes(), 384u);
  EXPECT_EQ(layout_of({}, DType::float64, Order::c).data_bytes(), 8u);
  EXPECT_EQ(layout_of({5, 0, 4}, DType::float64, Order::c).data_bytes(), 0u);
}

TEST(CheckedBytes, AcceptsTheLargestArrayThatFits) {
  EXPECT_EQ(checked_bytes({}, DType::int32, "x"), 4u);
  EXPECT_EQ(checked_bytes({INT64_MAX}, DType::uint8, "x"), static_cast<std::uint64_t>(INT64_MAX));
  EXPECT_EQ(checked_bytes(Shape(max_ndim, 1), DType::uint8, "x"), 1u);
}

TEST(CheckedBytes, RefusesOverflowWhichWouldWrapToZero) {
  EXPECT_THROW(checked_bytes({1LL << 32, 1LL << 32}, DType::uint8, "x"), FormatError);
  EXPECT_THROW(checked_bytes({INT64_MAX}, DType::uint16, "x"), FormatError);
}

TEST(CheckedBytes, RefusesAnEmptyShapeWhoseStridesWouldOverflow) {
  EXPECT_EQ(checked_bytes({0, 1LL << 40}, DType::float64, "x"), 0u);
  EXPECT_THROW(checked_bytes({0, 1LL << 40, 1LL << 40}, DType::float64, "x"), FormatError);
}

TEST(CheckedBytes, RefusesNegativeExtentsAndMoreThan64Dimensions) {
  EXPECT_THROW(checked_bytes({3, -1}, DType::uint8, "x"), FormatError);
  EXPECT_THROW(checked_bytes(Shape(max_ndim + 1, 1), DType::uint8, "x"), FormatError);
}

TEST(CheckedBytes, RefusalNamesTheFileAndTheShape) {
  try {
    checked_bytes({3, -1}, DType::uint8, "x.npy");
    FAIL();
  } catch (const FormatError& e) {
    EXPECT_STREQ(e.what(), "x.npy: negative extent -1 in shape (3, -1)");
  }
}

}  // namespace
}  // namespace lowtide
