#include "lowtide/memory/block_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "lowtide/base/units.h"

namespace lowtide {
namespace {

constexpr std::uint64_t piece = BlockCache::piece_bytes;

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    set_budget(std::uint64_t{8_MiB});
    cache_.evict(UINT64_MAX);
  }
  void TearDown() override { cache_.evict(UINT64_MAX); }
  bool keep(std::uint64_t content, std::uint64_t number, int value, std::uint64_t bytes = piece) {
    Block block = cache_.room();
    if (!block) return false;
    std::memset(block.data(), value, piece);
    cache_.insert({content, number}, std::move(block), bytes);
    return true;
  }
  BlockCache& cache_ = BlockCache::process();
};

TEST_F(Cache, GivesBackWhatItKeepsAcrossPieces) {
  keep(1, 0, 'a');
  keep(1, 1, 'b');
  std::vector<std::byte> out(20);
  ASSERT_TRUE(cache_.copy(1, piece - 10, 20, out.data()));
  EXPECT_EQ(out[9], std::byte{'a'});
  EXPECT_EQ(out[10], std::byte{'b'});
}

TEST_F(Cache, MissesWhatIsNotWhollyThere) {
  keep(1, 0, 'a');
  keep(1, 5, 'c', 100);
  std::vector<std::byte> out(200);
  EXPECT_FALSE(cache_.copy(1, piece - 10, 20, out.data()));
  EXPECT_FALSE(cache_.copy(2, 0, 20, out.data()));
  EXPECT_TRUE(cache_.copy(1, 5 * piece, 100, out.data()));
  EXPECT_FALSE(cache_.copy(1, 5 * piece, 101, out.data()));
}

TEST_F(Cache, StaysWithinHalfOfTheBudget) {
  for (std::uint64_t i = 0; i < 100; ++i) keep(1, i, 'x');
  EXPECT_LE(usage().by_purpose.at("cache"), 4_MiB);
}

TEST_F(Cache, GivesUpEverythingWhenTheBudgetNeedsIt) {
  for (std::uint64_t i = 0; i < 100; ++i) keep(1, i, 'x');
  const Lease all = Budget::process().take(8_MiB, Purpose::results, "test");
  EXPECT_EQ(usage().held_bytes, 8_MiB);
}

TEST_F(Cache, AScanDoesNotDisplaceWhatIsWantedAgainAndAgain) {
  std::vector<std::byte> out(8);
  keep(1, 7, 'h');
  for (std::uint64_t i = 0; i < 200; ++i) {
    keep(2, i, 's');
    ASSERT_TRUE(cache_.copy(1, 7 * piece, 8, out.data())) << i;
  }
}

TEST_F(Cache, RemembersWhatWasMissedBefore) {
  EXPECT_FALSE(cache_.missed_before({77, 3}));
  EXPECT_TRUE(cache_.missed_before({77, 3}));
}

}  // namespace
}  // namespace lowtide
