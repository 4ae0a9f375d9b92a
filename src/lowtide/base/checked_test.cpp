#include "lowtide/base/checked.h"

#include <gtest/gtest.h>

#include <limits>

namespace lowtide {
namespace {

constexpr auto max_i64 = std::numeric_limits<std::int64_t>::max();
constexpr auto min_i64 = std::numeric_limits<std::int64_t>::min();
constexpr auto max_u64 = std::numeric_limits<std::uint64_t>::max();

TEST(Checked, MultipliesUpToTheLargestValue) {
  static_assert(checked_multiply<std::uint64_t>(max_u64, 1) == max_u64);
  static_assert(checked_multiply<std::int64_t>(max_i64, -1) == -max_i64);
  EXPECT_EQ(checked_multiply<std::uint64_t>(1ULL << 32, (1ULL << 32) - 1), (1ULL << 32) * ((1ULL << 32) - 1));
}

TEST(Checked, GivesNothingWhereAProductDoesNotFit) {
  EXPECT_EQ(checked_multiply<std::uint64_t>(1ULL << 32, 1ULL << 32), std::nullopt);
  EXPECT_EQ(checked_multiply<std::int64_t>(min_i64, -1), std::nullopt);
}

TEST(Checked, GivesNothingWhereASumDoesNotFit) {
  EXPECT_EQ(checked_add<std::uint64_t>(max_u64, 0), max_u64);
  EXPECT_EQ(checked_add<std::uint64_t>(max_u64, 1), std::nullopt);
  EXPECT_EQ(checked_add<std::int64_t>(min_i64, -1), std::nullopt);
}

}  // namespace
}  // namespace lowtide
