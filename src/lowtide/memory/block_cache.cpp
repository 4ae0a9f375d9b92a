#include "lowtide/memory/block_cache.h"

#include <algorithm>
#include <cstring>

namespace lowtide {
namespace {

constexpr std::size_t once_share = 10;     // one tenth of the pieces are new ones
constexpr std::uint64_t budget_share = 2;  // at most half of the budget
constexpr std::uint8_t most_wanted = 3;

}  // namespace

BlockCache& BlockCache::process() {
  return one_for_process<BlockCache>(ForkRank::block_cache, [] {
    auto* made = new BlockCache;
    Budget::process().add_evictable(made);
    return made;
  });
}

bool BlockCache::copy(std::uint64_t content, std::uint64_t offset, std::uint64_t bytes, std::byte* out) {
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) return false;
  const std::uint64_t first = offset / piece_bytes;
  const std::uint64_t last = (offset + bytes - 1) / piece_bytes;
  for (std::uint64_t piece = first; piece <= last; ++piece) {
    const auto found = entries_.find({content, piece});
    if (found == entries_.end() ||
        std::min(offset + bytes, (piece + 1) * piece_bytes) - piece * piece_bytes > found->second.bytes)
      return false;
  }
  for (std::uint64_t piece = first; piece <= last; ++piece) {
    Entry& entry = entries_.find({content, piece})->second;
    entry.wanted = std::min<std::uint8_t>(most_wanted, entry.wanted + 1);
    const std::uint64_t begin = std::max(offset, piece * piece_bytes);
    const std::uint64_t end = std::min(offset + bytes, (piece + 1) * piece_bytes);
    std::memcpy(out + (begin - offset), entry.block.data() + (begin - piece * piece_bytes), end - begin);
  }
  return true;
}

bool BlockCache::contains(const Key& key) {
  const std::lock_guard lock(mutex_);
  return entries_.contains(key);
}

bool BlockCache::missed_before(const Key& key) {
  const std::uint64_t hash = KeyHash()(key) | 1;  // 0 means empty
  const std::lock_guard lock(mutex_);
  std::uint64_t& ghost = ghosts_[hash / 2 % ghosts_.size()];
  return std::exchange(ghost, hash) == hash;
}

Block BlockCache::room() {
  Budget& budget = Budget::process();
  bool full;
  {
    const std::lock_guard lock(mutex_);
    full = (entries_.size() + 1) * piece_bytes > budget.limit_bytes() / budget_share;
    if (full && entries_.empty()) return {};
  }
  if (!full) {
    if (Lease lease = budget.try_take(piece_bytes, Purpose::cache)) return Block::allocate(std::move(lease));
  }
  const std::lock_guard lock(mutex_);
  return evict_one();
}

void BlockCache::insert(const Key& key, Block block, std::uint64_t bytes) {
  const bool wanted_twice = missed_before(key);
  Block displaced;  // freed after the lock is gone
  const std::lock_guard lock(mutex_);
  auto [entry, added] = entries_.try_emplace(key);
  if (!added) {
    displaced = std::move(block);
    return;
  }
  entry->second.block = std::move(block);
  entry->second.bytes = bytes;
  (wanted_twice ? again_ : once_).push_back(key);
}

Block BlockCache::evict_one() {
  while (!once_.empty() || !again_.empty()) {
    const bool from_once = again_.empty() || once_.size() * once_share > entries_.size();
    std::deque<Key>& queue = from_once && !once_.empty() ? once_ : again_;
    const Key key = queue.front();
    queue.pop_front();
    const auto found = entries_.find(key);
    Entry& entry = found->second;
    if (entry.wanted > 0) {
      entry.wanted = &queue == &once_ ? 0 : static_cast<std::uint8_t>(entry.wanted - 1);
      again_.push_back(key);
      continue;
    }
    Block block = std::move(entry.block);
    entries_.erase(found);
    return block;
  }
  return {};
}

std::uint64_t BlockCache::evict(std::uint64_t bytes) {
  std::uint64_t freed = 0;
  while (freed < bytes) {
    Block block;
    {
      const std::lock_guard lock(mutex_);
      block = evict_one();
    }
    if (!block) break;
    freed += block.size_bytes();
  }
  return freed;
}

}  // namespace lowtide
