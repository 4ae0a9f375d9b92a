// How a pass goes over its iteration space: axes in the order of the files, cut into tiles that fit the memory at hand.
//
//   TilePlan plan = plan_tiles(program, tile_bytes);
//   plan.order;        // {1, 0}: a Fortran file is read front to back
//
// Plain data. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lowtide/exec/strip_machine.h"
#include "lowtide/expr/program.h"
#include "lowtide/source/memory_source.h"

namespace lowtide {

// An operand in the order of the plan's axes.
struct PlannedOperand {
  std::shared_ptr<const Source> source;
  Selection selection;
  DType dtype;
  std::optional<MemorySource::View> memory;  // it is in memory and needs no reading
  bool fixed = false;                        // the same for every tile
};

struct TilePlan {
  std::vector<std::size_t> order;  // order[j] is the axis of the program's space that is axis j here
  Shape extent;
  Shape cut;                      // of a tile
  std::int64_t rows = 0;          // as in PlanOptions
  std::vector<std::size_t> loop;  // axes along which tiles follow each other, the outermost first
  std::vector<PlannedOperand> operands;
  std::size_t threads = 1;  // that have memory of their own; set by the pass

  std::int64_t tile_count() const;
  std::int64_t tile_size() const;  // elements of the largest
  std::int64_t tile_extent(std::size_t axis, std::int64_t begin) const;
};

struct PlanOptions {
  bool keep_order = false;  // axes stay as they are
  std::int64_t rows = 0;    // no tile reaches over a multiple of so many along the first axis; 0: wherever it is cut
  std::span<const bool> outermost =
      {};  // axes of the space along which results are kept: complete those first when both are cut
};

// `tile_bytes`: for all operands of a tile together that are read from somewhere.
TilePlan plan_tiles(const Program& program, std::uint64_t tile_bytes, const PlanOptions& options = {});

// The part of a selection that a tile needs, broadcast axes shortened to one element, and its dense strides in memory.
struct TilePart {
  Selection selection;
  std::vector<std::int64_t> strides_bytes;  // 0 along broadcast axes
  std::uint64_t bytes = 0;
};
TilePart part_of(const PlannedOperand& operand, std::span<const std::int64_t> begin,
                 std::span<const std::int64_t> extent);

}  // namespace lowtide
