// A byte range of a file that is worth one request, and the one rule by which ranges are joined into it.
//
//   Extent extent{.begin = first.begin, .end = first.end, .last = 1};
//   while (extent.last < ranges.size() && extent.join(ranges[extent.last], slot_bytes, unit)) {}
//
// Ranges come sorted by where they begin. Neighbours no further apart than widest_gap_bytes join, as long as the whole units around all of
// them fit the memory that they will be read into.
//
// Plain data and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/io/file.h"

namespace lowtide {

// Bandwidth divided by requests a second, measured on NVMe: a wider gap is cheaper to skip than to read. Latency does not matter at depth.
inline constexpr std::int64_t widest_gap_bytes = 32 << 10;

// Bytes of a file, from `begin` to before `end`.
struct Span {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bytes() const { return end - begin; }
};

// What direct IO moves for a range: from the unit it starts in to the unit it ends in.
Span whole_units(Span range, std::uint64_t unit = io::direct_align);

struct Extent {
  std::uint64_t begin = 0, end = 0;  // the bytes that are wanted
  std::size_t first = 0, last = 0;   // which of the caller's ranges are in it
  bool gapless = true;               // every byte of it is wanted

  // False, and nothing changed, if the range is too far away or too long. REQUIRES: it does not begin before this.
  bool join(Span range, std::uint64_t most_bytes, std::uint64_t unit);
  Span units(std::uint64_t unit) const { return whole_units({begin, end}, unit); }
};

}  // namespace lowtide
