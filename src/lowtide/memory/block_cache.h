// Clean pieces of files, kept while the budget has bytes to spare: S3-FIFO, one short queue that a scan passes through and one long
// queue for what was wanted twice.
//
//   BlockCache& cache = BlockCache::process();
//   if (!cache.copy(content, offset, bytes, out)) { …read a whole piece…; cache.insert({content, piece}, std::move(block)); }
//
// `content` names one state of one file (io::File::content_id): a file that changes gets a new name, and what was kept under the old
// one is never found again.
//
// Thread-safe. Never blocks, never takes bytes that anybody waits for: it gives up pieces as soon as the budget asks.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "lowtide/base/fork.h"
#include "lowtide/memory/block.h"

namespace lowtide {

class BlockCache final : public Evictable, public LockedAcrossFork {
 public:
  static constexpr std::uint64_t piece_bytes = 256 * 1024;

  struct Key {
    std::uint64_t content = 0;
    std::uint64_t piece = 0;  // offset / piece_bytes
    bool operator==(const Key&) const = default;
  };

  static BlockCache& process();

  // Copies a range that is wholly kept; false, and nothing touched, if any of it is not.
  bool copy(std::uint64_t content, std::uint64_t offset, std::uint64_t bytes, std::byte* out);
  bool contains(const Key& key);
  // Was it asked for lately, and not there? Remembers that it was asked for.
  bool missed_before(const Key& key);
  // Memory for a piece: spare budget, or the place of the piece that is worth least. Empty when there is neither.
  Block room();
  // `bytes` of the block are valid: fewer than piece_bytes at the end of a file.
  void insert(const Key& key, Block block, std::uint64_t bytes);
  std::uint64_t evict(std::uint64_t bytes) override;

 private:
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
      return (key.content * 0x9E3779B97F4A7C15u) ^ (key.piece * 0xC2B2AE3D27D4EB4Fu);
    }
  };
  struct Entry {
    Block block;
    std::uint64_t bytes = 0;
    std::uint8_t wanted = 0;  // hits since it was last looked at, at most 3
  };
  Block evict_one();  // REQUIRES: lock held

  std::unordered_map<Key, Entry, KeyHash> entries_;
  std::deque<Key> once_;                           // new ones
  std::deque<Key> again_;                          // those that were wanted a second time
  std::array<std::uint64_t, 16 * 1024> ghosts_{};  // hashes of keys that were missed or evicted from once_
};

}  // namespace lowtide
