#include "lowtide/kernels/copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace lowtide {
namespace {

using Numbers = std::vector<std::int64_t>;

// A buffer, and where in it item (0, 0, …) of a strided array is.
struct Place {
  std::vector<std::byte> buffer;
  std::int64_t start = 0;
  Numbers strides;
  std::byte* data() { return buffer.data() + start; }
};

// Lays shape out with its axes in a random order, gaps between items and rows, and some axes reversed.
Place random_place(const Numbers& shape, std::size_t itemsize, bool may_broadcast, std::mt19937& random) {
  const auto chance = [&](int one_in) { return random() % static_cast<unsigned>(one_in) == 0; };
  std::vector<std::size_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  if (!chance(3)) std::shuffle(axes.begin(), axes.end(), random);
  Place place{.buffer = {}, .strides = Numbers(shape.size())};
  auto stride = static_cast<std::int64_t>(itemsize);
  if (chance(3)) stride += 1 + static_cast<std::int64_t>(random() % 5);
  for (const std::size_t axis : axes) {
    const bool broadcast = may_broadcast && chance(6);
    const bool reversed = !broadcast && chance(4);
    place.strides[axis] = broadcast ? 0 : reversed ? -stride : stride;
    if (reversed) place.start += stride * (shape[axis] - 1);
    if (!broadcast) stride *= shape[axis];
    if (chance(4)) stride += static_cast<std::int64_t>(random() % 40);
  }
  place.buffer.resize(static_cast<std::size_t>(stride) + itemsize);
  for (std::byte& byte : place.buffer) byte = static_cast<std::byte>(random());
  return place;
}

void copy_naively(Place& dst, Place& src, const Numbers& shape, std::size_t itemsize) {
  Numbers index(shape.size(), 0);
  const auto count = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  for (std::int64_t n = 0; n < count; ++n) {
    const auto dst_at = std::inner_product(index.begin(), index.end(), dst.strides.begin(), std::int64_t{0});
    const auto src_at = std::inner_product(index.begin(), index.end(), src.strides.begin(), std::int64_t{0});
    std::memcpy(dst.data() + dst_at, src.data() + src_at, itemsize);
    for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
  }
}

TEST(CopyStrided, AgreesWithANaiveLoopOnRandomShapesAndStrides) {
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    const std::size_t itemsize = std::vector<std::size_t>{1, 2, 4, 8, 16, 3, 12, 40}[random() % 8];
    Numbers shape(random() % 6);
    for (std::int64_t& extent : shape) extent = 1 + static_cast<std::int64_t>(random() % 6);
    if (shape.size() == 2)
      shape = {1 + static_cast<std::int64_t>(random() % 80), 1 + static_cast<std::int64_t>(random() % 80)};
    Place dst = random_place(shape, itemsize, false, random);
    Place src = random_place(shape, itemsize, true, random);
    Place expected = dst;
    copy_naively(expected, src, shape, itemsize);
    copy_strided(dst.data(), dst.strides, src.data(), src.strides, shape, itemsize);
    ASSERT_EQ(dst.buffer, expected.buffer) << "round " << round;  // what lies between items is untouched too
  }
}

TEST(CopyStrided, TransposesPlanesThatAreNotMultiplesOfATile) {
  const std::int64_t rows = 70, columns = 45;
  std::vector<std::uint32_t> src(static_cast<std::size_t>(rows * columns)), dst(src.size());
  std::iota(src.begin(), src.end(), 0u);
  copy_strided(reinterpret_cast<std::byte*>(dst.data()), Numbers{4, 4 * rows},
               reinterpret_cast<const std::byte*>(src.data()), Numbers{4 * columns, 4}, Numbers{rows, columns}, 4);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      ASSERT_EQ(dst[static_cast<std::size_t>(j * rows + i)], src[static_cast<std::size_t>(i * columns + j)]);
    }
  }
}

TEST(CopyStrided, ASourceStrideOfZeroRepeatsAnItem) {
  const std::uint16_t src = 513;
  std::vector<std::uint16_t> dst(6);
  copy_strided(reinterpret_cast<std::byte*>(dst.data()), Numbers{6, 2}, reinterpret_cast<const std::byte*>(&src),
               Numbers{0, 0}, Numbers{2, 3}, 2);
  EXPECT_EQ(dst, std::vector<std::uint16_t>(6, 513));
}

TEST(CopyStrided, AScalarIsOneItemAndAnEmptyShapeNone) {
  const double src = 1.5;
  double dst = 0;
  copy_strided(reinterpret_cast<std::byte*>(&dst), {}, reinterpret_cast<const std::byte*>(&src), {}, {}, 8);
  EXPECT_EQ(dst, 1.5);
  copy_strided(nullptr, Numbers{8, 8}, nullptr, Numbers{8, 8}, Numbers{5, 0}, 8);
}

TEST(CopyStrided, SpansThatDoNotAgreeAreRefused) {
  EXPECT_THROW(copy_strided(nullptr, Numbers{8}, nullptr, Numbers{8}, Numbers{0, 0}, 8), std::invalid_argument);
  EXPECT_THROW(copy_strided(nullptr, Numbers{8}, nullptr, Numbers{8}, Numbers{-1}, 8), std::invalid_argument);
  EXPECT_THROW(copy_strided(nullptr, Numbers(65), nullptr, Numbers(65), Numbers(65, 0), 8), std::invalid_argument);
}

}  // namespace
}  // namespace lowtide
