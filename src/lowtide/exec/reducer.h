// Reductions of a program's outputs over some axes, tile by tile, into accumulators.
//
//   Reducer reducer(program, reduced, {{.output = 0, .reduction = Reduction::sum}});
//   reducer.begin(plan, memory);
//   reducer.add(tile);                       // tiles of one window in the plan's order
//   reducer.states(0);                       // one accumulator for each kept element of the window, dense in the plan's axes
//
// What a tile is divided into does not depend on how many threads there are: the same bits for any number of them.
//
// Not thread-safe; add() uses all cores. Never blocks for the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lowtide/exec/strip_machine.h"
#include "lowtide/exec/tile_stream.h"
#include "lowtide/kernels/reduce.h"

namespace lowtide {

struct ReduceItem {
  std::size_t output = 0;  // of the program
  Reduction reduction{};
};

class Reducer {
 public:
  // reduced[i]: axis i of the program's space. REQUIRES: reduce_kernel() has one for each item. The program outlives it.
  Reducer(const Program& program, std::vector<bool> reduced, std::vector<ReduceItem> items);

  std::uint64_t bytes(const TilePlan& plan) const;
  // Empty accumulators for the kept elements of the largest tile; `memory` as large as bytes().
  void begin(const TilePlan& plan, std::span<std::byte> memory);
  void clear();
  void add(const Tile& tile);

  // Accumulators of the tile's kept elements, in C order of the plan's kept axes.
  const std::byte* states(std::size_t item) const { return states_[item]; }
  bool is_reduced(std::size_t plan_axis) const { return reduced_[plan_->order[plan_axis]]; }

 private:
  struct Part;  // of a tile: a range of one of its axes
  class Worker;

  std::int64_t window_size(const TilePlan& plan) const;
  std::size_t states_bytes() const;
  std::size_t scratch_bytes() const;

  const Program& program_;
  StripMachine machine_;
  std::vector<bool> reduced_;
  std::vector<ReduceItem> items_;
  std::vector<const ReduceKernel*> kernels_;
  const TilePlan* plan_ = nullptr;
  std::int64_t window_ = 0;
  std::vector<std::byte*> states_;
  std::span<std::byte> partials_, scratch_;
};

}  // namespace lowtide
