#include "lowtide/exec/map.h"

#include <algorithm>
#include <array>

#include "lowtide/exec/pass.h"
#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

constexpr std::int64_t long_row = 1024;            // strips of such rows do not reach over two of them
constexpr std::int64_t strips_a_part = 8;          // between two looks at what is left to do
constexpr std::int64_t worth_sharing = 64 * 1024;  // elements

std::size_t thread_bytes(const StripMachine& machine, const Program& program) {
  std::size_t bytes = machine.scratch_bytes();
  for (const DType dtype : program.output_dtypes) bytes += strip_length * itemsize(dtype);
  return round_up(bytes, 64);
}

}  // namespace

std::vector<std::size_t> operand_itemsizes(const Program& program) {
  std::vector<std::size_t> sizes;
  for (const ProgramOperand& operand : program.operands) sizes.push_back(itemsize(operand.dtype));
  return sizes;
}

std::size_t map_scratch_bytes(const StripMachine& machine, const Program& program, std::size_t threads) {
  return thread_bytes(machine, program) * threads;
}

void map_tile(const StripMachine& machine, const Program& program, const Tile& tile,
              std::span<const StridedView> outputs, std::span<std::byte> scratch) {
  const MergedTile merged(tile.extent, tile.operands, operand_itemsizes(program), outputs);
  const std::int64_t inner = merged.inner();
  const bool by_rows = inner >= long_row;
  const std::int64_t a_row = (inner + strip_length - 1) / strip_length;
  const std::int64_t strips = by_rows ? merged.size / inner * a_row : (merged.size + strip_length - 1) / strip_length;
  const std::size_t ndim = merged.extent.size();

  const auto strip = [&](std::byte* mine, std::int64_t number) {
    std::array<std::int64_t, max_ndim> at;
    const std::span index(at.data(), ndim);
    std::int64_t first = number * strip_length, count = strip_length;
    if (by_rows) {
      const std::int64_t begin = number % a_row * strip_length;
      first = number / a_row * inner + begin;
      count = std::min(strip_length, inner - begin);
    }
    count = std::min(count, merged.size - first);
    merged.index_of(first, index);
    std::array<std::byte*, 8> few;
    std::vector<std::byte*> many(outputs.size() > few.size() ? outputs.size() : 0);
    const std::span<std::byte*> places =
        many.empty() ? std::span(few.data(), outputs.size()) : std::span<std::byte*>(many);
    std::vector<bool> direct(outputs.size());
    std::byte* buffer = mine + machine.scratch_bytes();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const StridedView& view = merged.others[k];
      const auto item = static_cast<std::int64_t>(itemsize(program.output_dtypes[k]));
      std::int64_t dense = item;
      bool flat = true;
      for (std::size_t i = ndim; i-- > 0; dense *= merged.extent[i]) flat = flat && view.strides_bytes[i] == dense;
      direct[k] = flat || (view.strides_bytes.back() == item && index.back() + count <= inner);
      std::byte* place = const_cast<std::byte*>(view.data);
      for (std::size_t i = 0; i < ndim; ++i) place += index[i] * view.strides_bytes[i];
      places[k] = direct[k] ? place : buffer;
      buffer += strip_length * item;
    }
    machine.run(merged, index, count, mine, places);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (!direct[k])
        scatter_strip(merged, merged.others[k], index, count, itemsize(program.output_dtypes[k]), places[k]);
    }
  };
  const std::int64_t parts = (strips + strips_a_part - 1) / strips_a_part;
  in_parallel(parts, merged.size >= worth_sharing, scratch, thread_bytes(machine, program),
              [&](std::byte* mine, std::int64_t part) {
                const std::int64_t end = std::min(strips, (part + 1) * strips_a_part);
                for (std::int64_t number = part * strips_a_part; number < end; ++number) strip(mine, number);
              });
}

}  // namespace lowtide
