#include "lowtide/memory/spare_blocks.h"

#include <algorithm>

#include "lowtide/base/fork.h"

namespace lowtide {

SpareBlocks& SpareBlocks::process() {
  static SpareBlocks* const spare = [] {
    auto* made = new SpareBlocks;
    Budget::process().add_evictable(made);
    on_fork({.before = [] { process().mutex_.lock(); },
             .parent = [] { process().mutex_.unlock(); },
             .child = [] { process().mutex_.unlock(); }});
    return made;
  }();
  return *spare;
}

Block SpareBlocks::take(std::uint64_t most, Lease reserved) {
  const std::uint64_t least = reserved.bytes();
  {
    const std::lock_guard lock(mutex_);
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      if (it->size_bytes() < std::max(least, most / 2)) continue;
      Block block = std::move(*it);
      kept_.erase(it);
      block.repurpose(reserved.purpose());  // take() must not wait for what an open iterator or writer keeps
      return block;
    }
  }
  if (most > least) reserved.absorb(Budget::process().try_take_between(page_bytes, most - least, Purpose::staging));
  reserved.shrink(round_down(reserved.bytes(), page_bytes));
  return Block::allocate(std::move(reserved), Block::Pages::small);
}

void SpareBlocks::give(Block block) noexcept {
  block.repurpose(Purpose::cache);
  Block displaced;  // freed after the lock is gone: freeing takes the budget's
  const std::lock_guard lock(mutex_);
  if (kept_.size() == kept_count) {
    const auto smallest = std::min_element(
        kept_.begin(), kept_.end(), [](const Block& a, const Block& b) { return a.size_bytes() < b.size_bytes(); });
    if (smallest->size_bytes() >= block.size_bytes()) {
      displaced = std::move(block);
      return;
    }
    displaced = std::move(*smallest);
    kept_.erase(smallest);
  }
  kept_.push_back(std::move(block));
}

std::uint64_t SpareBlocks::evict(std::uint64_t bytes) {
  std::vector<Block> freed;
  std::uint64_t freed_bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    while (!kept_.empty() && freed_bytes < bytes) {
      freed_bytes += kept_.back().size_bytes();
      freed.push_back(std::move(kept_.back()));
      kept_.pop_back();
    }
  }
  return freed_bytes;
}

}  // namespace lowtide
