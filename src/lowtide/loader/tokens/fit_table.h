// Windows by the room they have left, for best fit: the tightest that takes n tokens, in a few word operations.
//
//   FitTable table(capacity, window_count);
//   table.add(window, room);
//   std::uint32_t window = table.take_tightest(tokens);      // out of the table; FitTable::none if none has the room
//
// Rooms are told apart exactly up to a capacity of 2^20, beyond that to a millionth of it: one that fits with less to spare may be passed over.
// Among windows of equal room the one added last is taken.
//
// Not thread-safe. Allocates in the constructor only: at most bytes(capacity, window_count), which the caller pays for.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace lowtide {

class FitTable {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  FitTable(std::uint32_t capacity, std::uint32_t window_count);
  static std::uint64_t bytes(std::uint32_t capacity, std::uint32_t window_count);
  // A window with room for so many tokens more than asked for is never passed over; 0 where rooms are told apart exactly.
  static std::uint32_t slack(std::uint32_t capacity);

  void add(std::uint32_t window,
           std::uint32_t room);  // REQUIRES: window < window_count, not in the table; room <= capacity
  std::uint32_t take_tightest(std::uint32_t tokens);  // REQUIRES: 0 < tokens <= capacity
  void clear();

 private:
  std::uint32_t next_bucket(std::uint32_t bucket) const;  // the first that is not empty, from `bucket` on

  static constexpr std::size_t level_count = 4;  // 64^4 buckets; there are 2^20 + 1 at most
  std::uint32_t shift_;
  std::vector<std::uint32_t> head_;  // a window of each bucket
  std::vector<std::uint32_t> next_;  // the one after it, window by window
  std::array<std::vector<std::uint64_t>, level_count>
      occupied_;  // a bit a bucket, then a bit a word of the level below
};

}  // namespace lowtide
