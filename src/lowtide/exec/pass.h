// One pass over the operands of a program: how much memory it is admitted with, how it divides it, and its tiles.
//
//   Needs needs = Pass::needs(program, options, beside);                 // beside(plan): bytes of the caller's own
//   Pass pass(program, options, beside, workspace);
//   for (Tile tile; pass.tiles().next(tile);) …pass.beside()…
//
// Not thread-safe. Blocks for the disk, interruptible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "lowtide/exec/tile_stream.h"

namespace lowtide {

using BytesBeside = std::function<std::uint64_t(const TilePlan& plan)>;

class Pass {
 public:
  static Needs needs(const Program& program, const PlanOptions& options, const BytesBeside& beside);

  // REQUIRES: the workspace is at least what needs() said; the program outlives the pass.
  Pass(const Program& program, const PlanOptions& options, const BytesBeside& beside, Workspace& workspace);

  const TilePlan& plan() const { return plan_; }
  TileStream& tiles() { return *tiles_; }
  std::span<std::byte> beside() const { return beside_; }  // not zeroed

 private:
  TilePlan plan_;
  std::span<std::byte> beside_;
  std::unique_ptr<TileStream> tiles_;
};

// Calls work(scratch, part) for every part, on this thread and, where it is worth it, on others. `scratch` is one thread's own.
// Nothing in it may throw.
void in_parallel(std::int64_t parts, bool worth_it, std::span<std::byte> scratch, std::size_t scratch_bytes,
                 const std::function<void(std::byte* scratch, std::int64_t part)>& work);
std::size_t compute_threads();

}  // namespace lowtide
