#include <algorithm>
#include <numeric>

#include "lowtide/loader/tokens/documents.h"

namespace lowtide {

void Marker::segment(std::int64_t begin, std::int64_t end) {
  const std::int64_t at = rows_ * block_ + begin;
  if (marks_.positions != nullptr) std::iota(marks_.positions + at, marks_.positions + at + (end - begin), 0);
  if (marks_.cu_seqlens != nullptr) marks_.cu_seqlens[bounds_] = static_cast<std::int32_t>(at);
  longest_ = std::max(longest_, static_cast<std::int32_t>(end - begin));
  ++bounds_;
}

void Marker::row(std::span<const std::int32_t> starts, bool ends_at_block, std::int64_t valid) {
  std::uint8_t* mask = marks_.mask == nullptr ? nullptr : marks_.mask + rows_ * block_;
  if (mask != nullptr) {
    std::fill_n(mask, valid, std::uint8_t{1});
    std::fill(mask + valid, mask + block_, std::uint8_t{0});
  }
  std::int64_t begin = 0;
  const auto document = [&](std::int64_t end, bool last_target) {
    segment(begin, end);
    if (mask != nullptr) mask[end - 1] = static_cast<std::uint8_t>(last_target);
    begin = end;
  };
  for (const std::int32_t start : starts) {
    if (start >= valid) break;
    if (start > begin) document(start, false);
  }
  if (valid > 0) document(valid, valid == block_ && !ends_at_block);
  if (valid < block_) segment(valid, block_);
  ++rows_;
}

std::int64_t Marker::finish() {
  if (marks_.cu_seqlens != nullptr) marks_.cu_seqlens[bounds_] = static_cast<std::int32_t>(rows_ * block_);
  return ++bounds_;
}

}  // namespace lowtide
