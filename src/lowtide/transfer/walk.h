// A map of bytes paired with the memory it is copied to or from, in file order: what to read, and where each piece goes.
//
// Axes are sorted by descending file stride, negative file strides are flipped, neighbours are merged where both sides allow
// it. The fastest axes form a run, which is worth one read; the others, tables included, enumerate the runs.
//
//   Walk walk = make_walk(map, memory_strides_bytes);
//   RunCursor cursor(walk);
//   for (Run run; cursor.next(run);) { … }      // or a batch: cursor.next(std::span(runs))
//
// A row of 4 KiB from each of k places: one outer axis of k, one table, a run of one axis. x[::2]: runs of 1 MiB.
//
// Walk: plain data, keeps its tables alive. RunCursor: not thread-safe, memory independent of the number of runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lowtide/transfer/byte_map.h"
#include "lowtide/transfer/extent.h"

namespace lowtide {

inline constexpr std::int64_t longest_run_bytes = 1 << 20;  // of a run that has gaps

struct WalkAxis {
  std::int64_t extent = 0;
  std::int64_t file_stride = 0;    // bytes
  std::int64_t memory_stride = 0;  // bytes; may be negative
};

// One piece of the file. Its element (r_0, r_1, …) is at file_offset + Σ r_i · run[i].file_stride, and in memory likewise.
struct Run {
  std::int64_t file_offset = 0;
  std::int64_t memory_offset = 0;
  std::int64_t count = 0;  // r_0 < count: run[0].extent, or less where the last piece of a split axis is short
};

struct Walk {
  std::int64_t base = 0;             // file byte of the first element, tables not added
  std::int64_t memory_offset = 0;    // byte in memory that goes with it
  std::vector<WalkAxis> outer;       // what enumerates runs, slowest first; its last axis is the fastest
  std::vector<OffsetTable> tables;   // added to the file offset; their axes are axes of `outer`
  std::vector<WalkAxis> run;         // slowest first; empty when a run is one element
  std::uint64_t run_span_bytes = 0;  // bytes of file that a full run covers, first to last byte wanted
  bool run_is_dense = true;          // all of them wanted: may then exceed longest_run_bytes
  std::int64_t run_count = 0;        // 0 for an empty selection
  std::int64_t last_count = 0;       // Run::count where the last axis of `outer` ends
  std::size_t itemsize = 1;

  std::uint64_t span_bytes(const Run& run_) const;  // of this run, short or not
};

// REQUIRES: memory_strides has one entry, in bytes, for each axis of the map.
Walk make_walk(ByteMap map, std::span<const std::int64_t> memory_strides);

// Yields the runs of a walk, which must outlive it.
class RunCursor {
 public:
  explicit RunCursor(const Walk& walk);
  // Fills the span from its front and returns how many runs there were: fewer than asked for only at the end.
  std::size_t next(std::span<Run> runs);
  bool next(Run& run) { return next(std::span(&run, 1)) == 1; }

 private:
  void fill(std::span<Run> runs) const;
  void step_outer();

  const Walk* walk_;
  WalkAxis fastest_{1, 0, 0};
  std::int64_t at_ = 0;                                 // on the fastest axis
  std::vector<std::int64_t> index_;                     // on the others
  std::int64_t file_, memory_;                          // where the fastest axis begins, tables not added
  std::vector<std::int64_t> entry_;                     // of each table, there
  std::vector<std::vector<std::int64_t>> entry_steps_;  // [table][axis of outer]
  std::int64_t remaining_;
};

}  // namespace lowtide
