#include "lowtide/index/entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lowtide/memory/spare_blocks.h"

namespace lowtide {
namespace {

constexpr std::uint64_t small_table_bytes = 128 * 1024;

}  // namespace

Block allocate_entries(std::int64_t count, std::int64_t bytes_each) {
  // Above 2^59 entries the byte count overflows; that many can be refused as that many.
  const auto bytes = static_cast<std::uint64_t>(bytes_each * std::min(count, std::int64_t{1} << 59));
  Lease lease =
      Budget::process().take(round_up(bytes, page_bytes), Purpose::index, fmt::format("index of {} elements", count));
  if (lease.bytes() > small_table_bytes) return Block::allocate(std::move(lease));
  Block block = SpareBlocks::process().take_exactly(std::move(lease));
  std::memset(block.data(), 0, block.size_bytes());
  return block;
}

std::shared_ptr<const Block> share_entries(Block block) {
  if (block.size_bytes() > small_table_bytes) return std::make_shared<const Block>(std::move(block));
  return std::shared_ptr<Block>(new Block(std::move(block)), [](Block* pointer) {
    const std::unique_ptr<Block> dropped(pointer);
    SpareBlocks::process().give(std::move(*dropped));
  });
}

}  // namespace lowtide
