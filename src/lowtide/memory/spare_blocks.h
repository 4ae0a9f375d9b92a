// Working memory kept warm between operations: faulting in and zeroing 16 MiB for every small gather would cost more than the gather.
//
//   Staging staging(16_MiB, std::move(reserved));     // a kept block where one fits, else a new one; goes back when it is done with
//   Block result = SpareBlocks::process().take_exactly(std::move(lease));
//
// Kept blocks are accounted under Purpose::cache and freed as soon as anyone needs the bytes.
//
// Thread-safe. Never blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "lowtide/base/fork.h"
#include "lowtide/memory/block.h"

namespace lowtide {

class SpareBlocks final : public Evictable, public LockedAcrossFork {
 public:
  static SpareBlocks& process();
  // At least as many bytes as `reserved`, the claim that the operation was admitted with, and up to `most` if they are to spare.
  Block take(std::uint64_t most, Lease reserved);
  // Exactly as large as its lease, and not zeroed.
  Block take_exactly(Lease lease);
  void give(Block block) noexcept;
  std::uint64_t evict(std::uint64_t bytes) override;

 private:
  SpareBlocks() { kept_.reserve(most_count); }    // so that giving never allocates
  Block remove(std::vector<Block>::iterator at);  // REQUIRES: lock held

  static constexpr std::size_t most_count = 8;
  static constexpr std::uint64_t most_bytes = 64 << 20;  // and no more than a quarter of the budget
  std::vector<Block> kept_;                              // oldest first
  std::uint64_t kept_bytes_ = 0;
};

// A block from the spare ones that goes back when it is done with.
class Staging {
 public:
  Staging(std::uint64_t most, Lease reserved) : block_(SpareBlocks::process().take(most, std::move(reserved))) {}
  Staging(Staging&&) = default;
  Staging& operator=(Staging&&) = delete;
  ~Staging() {
    if (block_) SpareBlocks::process().give(std::move(block_));
  }
  std::byte* data() const { return block_.data(); }
  std::size_t size_bytes() const { return block_.size_bytes(); }
  void shrink(std::uint64_t bytes) noexcept { block_.shrink(bytes); }
  bool can_shrink() const { return block_.can_shrink(); }

 private:
  Block block_;
};

}  // namespace lowtide
