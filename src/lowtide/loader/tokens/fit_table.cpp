#include "lowtide/loader/tokens/fit_table.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace lowtide {
namespace {

constexpr int most_bucket_bits = 20;

std::uint32_t shift_of(std::uint32_t capacity) {
  return static_cast<std::uint32_t>(std::max(0, static_cast<int>(std::bit_width(capacity - 1)) - most_bucket_bits));
}
std::uint32_t bucket_count_of(std::uint32_t capacity) { return (capacity >> shift_of(capacity)) + 1; }

}  // namespace

FitTable::FitTable(std::uint32_t capacity, std::uint32_t window_count)
    : shift_(shift_of(capacity)), head_(bucket_count_of(capacity), none), next_(window_count) {
  std::size_t bits = head_.size();
  for (auto& level : occupied_) {
    bits = (bits + 63) / 64;
    level.assign(bits, 0);
  }
}

std::uint64_t FitTable::bytes(std::uint32_t capacity, std::uint32_t window_count) {
  const std::uint64_t heads_bytes = std::uint64_t{4} * bucket_count_of(capacity);
  return heads_bytes + heads_bytes / 16 + 128 + std::uint64_t{4} * window_count;
}

std::uint32_t FitTable::slack(std::uint32_t capacity) { return (1u << shift_of(capacity)) - 1; }

void FitTable::add(std::uint32_t window, std::uint32_t room) {
  std::uint32_t bucket = room >> shift_;
  next_[window] = std::exchange(head_[bucket], window);
  for (auto& level : occupied_) {
    std::uint64_t& word = level[bucket / 64];
    const bool known = word != 0;
    word |= std::uint64_t{1} << (bucket % 64);
    if (known) return;
    bucket /= 64;
  }
}

std::uint32_t FitTable::next_bucket(std::uint32_t bucket) const {
  std::size_t level = 0;
  while (true) {
    const std::uint32_t word = bucket / 64;
    if (word < occupied_[level].size()) {
      if (const std::uint64_t bits = occupied_[level][word] >> (bucket % 64); bits != 0) {
        bucket += static_cast<std::uint32_t>(std::countr_zero(bits));
        break;
      }
    }
    if (++level == level_count) return none;
    bucket = word + 1;
  }
  while (level > 0) {
    --level;
    bucket = bucket * 64 + static_cast<std::uint32_t>(std::countr_zero(occupied_[level][bucket]));
  }
  return bucket;
}

std::uint32_t FitTable::take_tightest(std::uint32_t tokens) {
  std::uint32_t bucket =
      next_bucket(static_cast<std::uint32_t>((tokens + ((std::uint64_t{1} << shift_) - 1)) >> shift_));
  if (bucket == none) return none;
  const std::uint32_t window = head_[bucket];
  head_[bucket] = next_[window];
  if (head_[bucket] != none) return window;
  for (auto& level : occupied_) {
    std::uint64_t& word = level[bucket / 64];
    word &= ~(std::uint64_t{1} << (bucket % 64));
    if (word != 0) break;
    bucket /= 64;
  }
  return window;
}

void FitTable::clear() {
  for (std::uint32_t bucket = 0; (bucket = next_bucket(bucket)) != none; ++bucket) head_[bucket] = none;
  for (auto& level : occupied_) std::fill(level.begin(), level.end(), 0);
}

}  // namespace lowtide
