// One contiguous range of a file into memory, many requests at a time and with no copy in between.
//
//   Span span = whole_units({offset, offset + bytes});             // how much memory, and where in it the first byte will be
//   read_range(file, memory_for_span, offset, bytes, in_flight);   // data at memory + (offset - span.begin)
//
// Direct IO moves whole units, so the range is read from the unit it starts in to the unit it ends in, and the caller looks at the inside.
//
// Thread-safe. Blocks for the disk, interruptible. REQUIRES: the file is pinned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/io/file.h"
#include "lowtide/memory/budget.h"
#include "lowtide/transfer/driver.h"

namespace lowtide {

// How a scan asks: requests of what size, and how many at a time. In modes that go through the page cache, what they occupy there is paid
// for by a lease of between least_bytes and most_bytes; in direct modes that is nothing.
struct Pace {
  std::uint32_t request_bytes = 1 << 20;
  std::size_t depth = 16;

  static Pace of(const io::File& file, const Lease& in_flight);
  static std::uint64_t least_bytes(const io::File& file);
  static std::uint64_t most_bytes(const io::File& file);
};

// Cuts a range into moves. `memory` is where the whole units around it go.
class RangeMoves {
 public:
  RangeMoves(io::File& file, std::byte* memory, Span range, std::uint32_t move_bytes, std::uint64_t tag = 0);
  bool next(Move& out);

 private:
  io::File& file_;
  std::byte* memory_;
  Span range_;
  std::uint64_t at_;
  std::uint32_t move_bytes_;
  std::uint64_t tag_;
};

void read_range(io::File& file, std::byte* memory, std::uint64_t offset, std::uint64_t bytes, const Lease& in_flight);

}  // namespace lowtide
