#include "lowtide/memory/block.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "lowtide/base/fault.h"
#include "lowtide/base/units.h"
#include "lowtide/memory/spare_blocks.h"

namespace lowtide {
namespace {

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  in >> total >> resident;
  return resident * page_bytes;
}

Block block_of(std::uint64_t bytes) { return Block::allocate(Budget::process().take(bytes, Purpose::results, "test")); }

class Blocks : public testing::TestWithParam<std::uint64_t> {
 protected:
  void SetUp() override { set_budget(std::uint64_t{256_MiB}); }
};

TEST_P(Blocks, AreAlignedZeroedAndWritable) {
  const Block block = block_of(GetParam());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % page_bytes, 0u);
  for (std::size_t i = 0; i < block.size_bytes(); i += page_bytes) EXPECT_EQ(block.data()[i], std::byte{0});
  std::memset(block.data(), 1, block.size_bytes());
}

TEST_P(Blocks, GoBackToTheKernelWhenFreed) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer's own memory is resident too";
#endif
  {
    const Block warm = block_of(GetParam());
  }
  const std::uint64_t before = resident_bytes();
  {
    const Block block = block_of(GetParam());
    std::memset(block.data(), 1, block.size_bytes());
    EXPECT_GE(resident_bytes() + 64_KiB, before + GetParam());
  }
  EXPECT_LE(resident_bytes(), before + 64_KiB);
}

TEST_P(Blocks, AreZeroAgainWhenMemoryIsUsedASecondTime) {
  for (int i = 0; i < 3; ++i) {
    const Block block = block_of(GetParam());
    EXPECT_EQ(block.data()[0], std::byte{0});
    std::memset(block.data(), 7, block.size_bytes());
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Blocks, testing::Values(4_KiB, 64_KiB, 256_KiB, 1_MiB, 2_MiB, 9_MiB));

TEST(Block, KeepsItsLeaseUntilItIsGone) {
  set_budget(std::uint64_t{8_MiB});
  const std::uint64_t before = usage().held_bytes;
  {
    Block a = block_of(1_MiB);
    Block b = std::move(a);
    EXPECT_EQ(usage().held_bytes, before + 1_MiB);
    b.repurpose(Purpose::cache);
    EXPECT_EQ(usage().by_purpose.at("cache"), 1_MiB);
  }
  EXPECT_EQ(usage().held_bytes, before);
}

TEST(Block, AHundredThousandSmallOnesDoNotExhaustTheMappings) {
  set_budget(std::uint64_t{1_GiB});
  std::vector<Block> blocks;
  for (int i = 0; i < 100'000; ++i) blocks.push_back(block_of(page_bytes));
  EXPECT_EQ(blocks.size(), 100'000u);
}

TEST(Block, AFailedAllocationThrowsAndReturnsTheLease) {
  set_budget(std::uint64_t{8_MiB});
  const std::uint64_t before = usage().held_bytes;
  const fault::Scope scope({.stage = fault::Stage::allocate, .nth = 1, .error = ENOMEM});
  EXPECT_THROW(block_of(1_MiB), std::bad_alloc);
  EXPECT_EQ(usage().held_bytes, before);
}

TEST(SpareBlocks, AreUsedAgainAndGivenUpWhenTheBytesAreNeeded) {
  set_budget(std::uint64_t{16_MiB});
  const std::byte* first = nullptr;
  {
    const Staging staging(4_MiB, Budget::process().take(1_MiB, Purpose::staging, "test"));
    EXPECT_EQ(staging.size_bytes(), 4_MiB);
    first = staging.data();
  }
  {
    const Staging again(4_MiB, Budget::process().take(1_MiB, Purpose::staging, "test"));
    EXPECT_EQ(again.data(), first);
  }
  EXPECT_EQ(usage().by_purpose.at("cache"), 4_MiB);
  const Lease all = Budget::process().take(16_MiB, Purpose::results, "test");
  EXPECT_EQ(usage().by_purpose.count("cache"), 0u);
}

}  // namespace
}  // namespace lowtide
