// One contiguous range of a file into memory, many requests at a time and with no copy in between.
//
//   Span span = whole_units(offset, bytes);                        // how much memory, and where in it the first byte will be
//   read_range(file, memory_for_span, offset, bytes, in_flight);   // data at memory + (offset - span.begin)
//
// Direct IO moves whole units, so the range is read from the unit it starts in to the unit it ends in, and the caller looks at the inside.
//
// Thread-safe. Blocks for the disk, interruptible. REQUIRES: the file is pinned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/io/file.h"
#include "lowtide/io/queue.h"
#include "lowtide/memory/budget.h"

namespace lowtide {

inline constexpr std::uint32_t scan_request_bytes = 1 << 20;
inline constexpr std::size_t scan_depth = 16;

// Whole units around a range.
struct Span {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t bytes() const { return end - begin; }
};
Span whole_units(std::uint64_t offset, std::uint64_t bytes, std::uint64_t unit = io::direct_align);

// The page cache that a range's requests occupy while in flight, in modes that go through it; nothing in direct modes.
std::uint64_t least_in_flight_bytes(const io::File& file);
std::uint64_t most_in_flight_bytes(const io::File& file);

// Cuts a range into requests. `memory` is where whole_units(offset, bytes).begin goes, and has room for the whole span.
class RangeRequests {
 public:
  RangeRequests(io::File& file, std::byte* memory, std::uint64_t offset, std::uint64_t bytes,
                std::uint32_t request_bytes, std::uint64_t tag);
  bool next(io::Request& out);

 private:
  io::File& file_;
  std::byte* memory_;
  Span span_;
  std::uint64_t wanted_end_;
  std::uint64_t at_;
  std::uint32_t request_bytes_;
  std::uint64_t tag_;
};

void read_range(io::File& file, std::byte* memory, std::uint64_t offset, std::uint64_t bytes, const Lease& in_flight);

}  // namespace lowtide
