// Small reads of neighbouring places: a loop over rows or slices, which direct IO alone would serve one disk latency at a time.
//
//   if (source.read_ahead->serve(file, offset, bytes, out)) return;      // from memory, or by reading more than was asked for
//
// A read that continues the one before it brings in a window ahead of it, doubled each time up to 4 MiB; a place that is asked for a
// second time is brought in with its surroundings. Everything else is left to an exact read, so a random gather costs no more than it must.
// What is brought in lives in the BlockCache.
//
// Thread-safe. Blocks for the disk. REQUIRES: the file is pinned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lowtide/io/file.h"

namespace lowtide {

class ReadAhead {
 public:
  static constexpr std::uint64_t most_bytes = 512 * 1024;  // larger reads keep a disk busy by themselves

  // True when `bytes` at `offset` were copied to `out`.
  bool serve(io::File& file, std::uint64_t offset, std::uint64_t bytes, std::byte* out);

 private:
  std::uint64_t window_for(std::uint64_t offset, std::uint64_t bytes);

  // Guesses: threads that read through one array at once may spoil them for each other.
  std::atomic<std::uint64_t> last_end_{0};
  std::atomic<std::uint64_t> window_bytes_{0};
};

}  // namespace lowtide
