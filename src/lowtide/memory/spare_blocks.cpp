#include "lowtide/memory/spare_blocks.h"

#include <algorithm>

namespace lowtide {

SpareBlocks& SpareBlocks::process() {
  return one_for_process<SpareBlocks>(ForkRank::spare_blocks, [] {
    auto* made = new SpareBlocks;
    Budget::process().add_evictable(made);
    return made;
  });
}

Block SpareBlocks::take(std::uint64_t most, Lease reserved) {
  const std::uint64_t least = reserved.bytes();
  {
    const std::lock_guard lock(mutex_);
    const auto fits = [&](const Block& b) {
      return b.size_bytes() >= std::max(least, most / 2) && b.size_bytes() <= 2 * most;
    };
    if (const auto found = std::find_if(kept_.rbegin(), kept_.rend(), fits); found != kept_.rend()) {
      Block block = remove(std::prev(found.base()));
      block.repurpose(reserved.purpose());  // take() must not wait for what an open iterator or writer keeps
      return block;
    }
  }
  if (most > least) reserved.absorb(Budget::process().try_take_between(page_bytes, most - least, Purpose::staging));
  reserved.shrink(round_down(reserved.bytes(), page_bytes));
  return Block::allocate(std::move(reserved), Block::Pages::small);
}

Block SpareBlocks::take_exactly(Lease lease) {
  {
    const std::lock_guard lock(mutex_);
    const auto fits = [&](const Block& b) { return b.size_bytes() == lease.bytes(); };
    if (const auto found = std::find_if(kept_.rbegin(), kept_.rend(), fits); found != kept_.rend()) {
      Block block = remove(std::prev(found.base()));
      block.repurpose(lease.purpose());
      return block;
    }
  }
  return Block::allocate(std::move(lease));
}

Block SpareBlocks::remove(std::vector<Block>::iterator at) {
  Block block = std::move(*at);
  kept_.erase(at);
  kept_bytes_ -= block.size_bytes();
  return block;
}

void SpareBlocks::give(Block block) noexcept {
  const std::uint64_t most = std::min(most_bytes, Budget::process().limit_bytes() / 4);
  while (block) {
    Block displaced;  // freed after the lock is gone: freeing takes the budget's
    const std::lock_guard lock(mutex_);
    if (block.size_bytes() > most) {
      displaced = std::move(block);
    } else if (kept_.size() == most_count || kept_bytes_ + block.size_bytes() > most) {
      displaced = remove(kept_.begin());
    } else {
      kept_bytes_ += block.size_bytes();
      kept_.push_back(std::move(block));
      kept_.back().repurpose(Purpose::cache);  // under the lock: a child of fork() finds it here or not at all
    }
  }
}

std::uint64_t SpareBlocks::evict(std::uint64_t bytes) {
  std::uint64_t freed_bytes = 0;
  while (freed_bytes < bytes) {
    Block freed;
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) break;
    freed = remove(kept_.begin());
    freed_bytes += freed.size_bytes();
  }
  return freed_bytes;
}

}  // namespace lowtide
