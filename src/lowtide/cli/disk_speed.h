// How fast a file's disk answers in the file's IO mode, on ranges that are not in memory.
//
//   ColdFile cold = make_cold(*file);                        // says what it did to the page cache, if anything
//   Speed s = measure_sequential(*file, cold, 1.0);          // 1 MiB requests, as lowtide scans
//   Speed r = measure_random(*file, cold, 1.0);              // 4 KiB requests, as lowtide gathers
//
// Not thread-safe. Blocks for as long as it is told; interruptible. Memory comes from the budget.
#pragma once

#include <cstdint>
#include <string>

#include "lowtide/io/file.h"

namespace lowtide::cli {

inline constexpr std::uint64_t least_bench_bytes = 1 << 20;

struct ColdFile {
  std::string path;
  std::uint64_t bytes = 0;
  bool skip_cached = false;  // ranges in the page cache are passed over
  bool in_memory = false;    // the file cannot be made cold: figures are those of memory
  std::string note;          // what was done or found, for the user; may be empty
};
// Where most of the file is in the page cache, its pages are dropped (fadvise); otherwise they are left and passed over.
ColdFile make_cold(io::File& file);

struct Speed {
  std::uint64_t bytes = 0, requests = 0;
  double seconds = 0;
  double mib_per_s() const { return seconds > 0 ? static_cast<double>(bytes) / seconds / (1 << 20) : 0; }
  double iops() const { return seconds > 0 ? static_cast<double>(requests) / seconds : 0; }
};
Speed measure_sequential(io::File& file, const ColdFile& cold, double seconds);
Speed measure_random(io::File& file, const ColdFile& cold, double seconds);

}  // namespace lowtide::cli
