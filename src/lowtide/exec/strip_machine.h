// Runs a program over a tile in memory, strip by strip: values live in registers that fit L1 and L2, never as long as the tile.
//
//   StripMachine machine(program);
//   MergedTile merged(tile.extent, operands, outputs);            // fewest axes
//   machine.run(merged, index, count, scratch, destinations);      // `count` elements in C order from `index` on
//
// Constants and broadcast operands are never expanded where a kernel takes one element for all.
//
// Thread-safe: const; scratch belongs to one thread. Never blocks, allocates nothing in run().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lowtide/expr/program.h"
#include "lowtide/kernels/elementwise.h"

namespace lowtide {

inline constexpr std::int64_t strip_length = 2048;

// Elements of a tile in memory: one stride for each of its axes, 0 where it is broadcast.
struct StridedView {
  const std::byte* data = nullptr;
  std::vector<std::int64_t> strides_bytes;
};

// A tile on the fewest axes along which all its views step evenly. Axes of different `kinds` stay apart.
struct MergedTile {
  MergedTile(const Shape& extent, std::span<const StridedView> operands, std::span<const std::size_t> itemsizes,
             std::span<const StridedView> others = {}, std::span<const bool> kinds = {});

  Shape extent;  // at least one axis
  std::int64_t size = 1;
  std::vector<StridedView> operands;
  std::vector<StridedView> others;  // outputs, or accumulators
  std::vector<bool> kinds;
  std::vector<bool> flat, single;  // operands that are dense in C order, that are one element

  std::int64_t inner() const { return extent.back(); }
  void index_of(std::int64_t element, std::span<std::int64_t> index) const;
};

class StripMachine {
 public:
  explicit StripMachine(const Program& program);

  std::size_t scratch_bytes() const { return scratch_bytes_; }  // for a strip of strip_length elements
  // The values of the program's outputs, one after the other where outputs[k] says; dense. REQUIRES: count <= strip_length.
  void run(const MergedTile& tile, std::span<const std::int64_t> index, std::int64_t count, std::byte* scratch,
           std::span<std::byte* const> outputs) const;
  // Where the output is an operand as it is, its place in the tile, if those elements are dense there.
  const std::byte* in_place(std::size_t output, const MergedTile& tile, std::span<const std::int64_t> index,
                            std::int64_t count) const;

 private:
  struct Step {
    StripKernel kernel = nullptr;  // null: a cast
    DType in{}, out{};
    std::uint8_t arity = 1;
    std::array<Ref, 3> from{};
    std::size_t out_itemsize = 1;
    std::int32_t output = -1;  // written there instead of into a register
    std::size_t scratch_offset = 0;
  };
  struct Loaded {
    const std::byte* data = nullptr;
    bool scalar = false;
  };
  Loaded load(std::size_t operand, const MergedTile& tile, std::span<const std::int64_t> index, std::int64_t count,
              std::byte* scratch) const;

  std::vector<ProgramConstant> constants_;
  std::vector<Step> steps_;
  std::vector<Ref> outputs_;
  std::vector<std::size_t> output_itemsizes_;
  std::vector<std::size_t> operand_itemsizes_;
  std::vector<std::size_t> load_offsets_;
  std::vector<bool> loaded_;  // operands that a step or an output names
  std::size_t scratch_bytes_ = 0;
};

// Copies `count` elements in C order from `index` on to or from a dense strip.
void gather_strip(const MergedTile& tile, const StridedView& view, std::span<const std::int64_t> index,
                  std::int64_t count, std::size_t itemsize, std::byte* strip);
void scatter_strip(const MergedTile& tile, const StridedView& view, std::span<const std::int64_t> index,
                   std::int64_t count, std::size_t itemsize, const std::byte* strip);

}  // namespace lowtide
