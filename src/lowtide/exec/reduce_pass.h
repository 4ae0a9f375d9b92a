// Several reductions of expressions over the same elements, in one pass.
//
//   ReducePass pass(program, kept_ndim, specs);            // one output of the program for each of the specs
//   Needs needs = pass.needs();
//   pass.run(workspace, results);                          // each result: where its first element goes, strides in the kept axes
//
// Thread-safe: const. Blocks for the disk, interruptible.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lowtide/exec/pass.h"
#include "lowtide/exec/reduce_source.h"
#include "lowtide/exec/reducer.h"

namespace lowtide {

class ReducePass {
 public:
  // The program's space: kept axes first, then those that are reduced.
  ReducePass(Program program, std::size_t kept_ndim, std::vector<ReduceSpec> specs);

  Needs needs() const;
  void run(Workspace& workspace, std::span<const StridedView> results) const;
  const Program& program() const { return program_; }

 private:
  PlanOptions options() const;
  BytesBeside beside(const Reducer& reducer) const;
  void finish(const TilePlan& plan, const Tile& tile, const Reducer& reducer, std::span<std::byte> memory,
              std::span<const StridedView> results) const;

  Program program_;
  std::size_t kept_ndim_;
  std::vector<ReduceSpec> specs_;
  std::vector<std::size_t> item_of_;  // accumulators that a spec is made of; mean and std share theirs
  std::vector<ReduceItem> items_;
  std::vector<bool> reduced_;
  std::vector<char> kept_;  // not vector<bool>: seen as a span
  bool in_order_ = false;   // positions count
};

}  // namespace lowtide
