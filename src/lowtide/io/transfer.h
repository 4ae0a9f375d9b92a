// One request, done to the end on this thread: for reads and writes too small to be worth a queue.
//
//   read_fully(*file, memory, offset, 8192, 5000);      // throws unless at least 5000 bytes came
//
// Thread-safe. Blocks for the disk. REQUIRES: the file is pinned; alignment as File::read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/io/file.h"

namespace lowtide::io {

void read_fully(File& file, std::byte* memory, std::uint64_t offset, std::size_t bytes, std::size_t least_bytes);
void write_fully(File& file, const std::byte* memory, std::uint64_t offset, std::size_t bytes);
// Through the page cache, any alignment.
void read_cached_fully(File& file, std::byte* memory, std::uint64_t offset, std::size_t bytes);
void write_cached_fully(File& file, const std::byte* memory, std::uint64_t offset, std::size_t bytes);

// Throws what a failed request means: DataChangedError for a file that ended early, IoError for the rest.
[[noreturn]] void fail_request(File& file, bool reading, int error, std::uint64_t offset, std::uint64_t wanted_bytes,
                               std::uint64_t got_bytes);

}  // namespace lowtide::io
