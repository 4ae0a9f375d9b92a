// Any selection between a file and memory: scattered pieces, sorted and merged, many requests in flight.
//
//   GatherNeeds needs = gather_needs(file, walk);              // what to be admitted with, before anything starts
//   Staging staging(needs.most_bytes, reserved);
//   gather(file, walk, memory, staging);                       // file to memory; what is all cached: warm_gather.h, before
//   scatter(file, walk, memory, staging);                      // memory to file, in place
//
// Thread-safe on different memory; scatter() needs the caller to be the only writer. Blocks for the disk, interruptible.
// REQUIRES: the file is pinned.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/io/file.h"
#include "lowtide/memory/spare_blocks.h"
#include "lowtide/transfer/walk.h"

namespace lowtide {

struct GatherNeeds {
  std::uint64_t least_bytes = 0, most_bytes = 0;
};
GatherNeeds gather_needs(const io::File& file, const Walk& walk);
// Enough for any walk on this file, where one operation makes several.
GatherNeeds gather_needs_of_any(const io::File& file);

// How staging memory is divided.
struct Slots {
  std::uint64_t slot_bytes = 0;
  std::size_t count = 0;
  std::uint64_t piece_bytes() const;  // the longest piece that fits a slot wherever it starts
};
Slots divide(const io::File& file, const Walk& walk, std::uint64_t staging_bytes);

void gather(io::File& file, const Walk& walk, std::byte* memory, Staging& staging);
void scatter(io::File& file, const Walk& walk, const std::byte* memory, Staging& staging);

}  // namespace lowtide
