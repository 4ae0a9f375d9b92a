#include "lowtide/kernels/find_value.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace lowtide {
namespace {

template <class T>
class FindValue : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(FindValue, Integers);

TYPED_TEST(FindValue, FindsTheFirstWhereverItStandsAndHoweverTheDataIsAligned) {
  constexpr TypeParam value = 101;
  for (std::size_t count = 0; count <= 300; count += count < 5 ? 1 : 37) {
    for (std::size_t at = 0; at <= count; ++at) {
      std::vector<TypeParam> values(count, TypeParam{7});
      for (std::size_t i = at; i < count; i += 3) values[i] = value;
      std::vector<std::byte> bytes(count * sizeof(TypeParam) + 1);
      if (count > 0) std::memcpy(bytes.data() + 1, values.data(), count * sizeof(TypeParam));
      ASSERT_EQ(find_value(bytes.data() + 1, dtype_of<TypeParam>, count, value), at) << count;
    }
  }
}

TYPED_TEST(FindValue, ComparesEveryByteOfAValue) {
  // Differs from the value in one bit, each in turn.
  const auto value = static_cast<TypeParam>(0x5A5A5A5A5A5A5A5A);
  std::vector<TypeParam> values(200);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bit = std::uint64_t{1} << (i % (8 * sizeof(TypeParam)));
    values[i] = static_cast<TypeParam>(static_cast<std::uint64_t>(value) ^ bit);
  }
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  const auto wanted = static_cast<std::uint64_t>(value);
  EXPECT_EQ(find_value(data, dtype_of<TypeParam>, values.size(), wanted), values.size());
  values[191] = value;
  EXPECT_EQ(find_value(data, dtype_of<TypeParam>, values.size(), wanted), 191u);
}

TEST(HoldsValue, KnowsTheLargestOfEachDtype) {
  const std::pair<DType, std::uint64_t> greatest[] = {
      {DType::int8, 127},  {DType::int16, 32767},  {DType::int32, 2147483647},  {DType::int64, 9223372036854775807u},
      {DType::uint8, 255}, {DType::uint16, 65535}, {DType::uint32, 4294967295},
  };
  for (const auto& [dtype, value] : greatest) {
    EXPECT_TRUE(holds_value(dtype, value)) << name(dtype);
    EXPECT_FALSE(holds_value(dtype, value + 1)) << name(dtype);
  }
  EXPECT_TRUE(holds_value(DType::uint64, 18446744073709551615u));
  EXPECT_FALSE(holds_value(DType::float32, 0));
}

}  // namespace
}  // namespace lowtide
