// Values in the caller's memory as dense elements of a file's dtype and byte order, a bounded tile at a time.
//
//   DenseTiles tiles(values, shape, layout.dtype, layout.endian, Budget…take(DenseTiles::least_bytes(…)));
//   for (DenseTile tile; tiles.next(tile);) writer.append(tile.data, tile.bytes);     // C order, every element once
//
// Not thread-safe. Never blocks. The values must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowtide/array.h"
#include "lowtide/memory/spare_blocks.h"

namespace lowtide {

// The strides with which `values` fills `shape`: 0 along broadcast axes. Throws std::invalid_argument with NumPy's words.
std::vector<std::int64_t> broadcast_strides(const ConstView& values, const Shape& shape);

// A box of the shape whose elements follow each other in C order.
struct DenseTile {
  std::vector<std::int64_t> begin, extent;
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

class DenseTiles {
 public:
  DenseTiles(const ConstView& values, Shape shape, DType dtype, Endian endian, Lease reserved);
  static std::uint64_t least_bytes(DType from, DType to);
  static std::uint64_t most_bytes(DType from, DType to);

  bool next(DenseTile& tile);  // tile.data lives until the next call

 private:
  ConstView values_;
  Shape shape_;
  std::vector<std::int64_t> strides_;
  DType dtype_;
  Endian endian_;
  Staging staging_;
  std::int64_t most_elements_;
  std::size_t cut_count_ = 0;    // axes that tiles do not span: single steps along all but the last of them
  std::int64_t cut_extent_ = 1;  // steps along that one
  std::vector<std::int64_t> at_;
  bool done_;
};

}  // namespace lowtide
