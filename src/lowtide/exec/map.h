// A program's outputs for one tile, written where they belong, on all cores.
//
//   map_tile(machine, program, tile, outputs, scratch);
//
// Thread-safe on different scratch. Never blocks for the disk.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lowtide/exec/strip_machine.h"
#include "lowtide/exec/tile_stream.h"

namespace lowtide {

std::size_t map_scratch_bytes(const StripMachine& machine, const Program& program, std::size_t threads);
// outputs[k]: where the tile's first element goes, and strides along the tile's axes.
void map_tile(const StripMachine& machine, const Program& program, const Tile& tile,
              std::span<const StridedView> outputs, std::span<std::byte> scratch);

std::vector<std::size_t> operand_itemsizes(const Program& program);

}  // namespace lowtide
