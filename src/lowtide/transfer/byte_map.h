// Where the elements of a selection lie in a file, or in memory, that holds its array in one piece: address arithmetic.
//
// The element at output index (o_0, …, o_n-1) is at
//
//   base + Σ_j o_j · axes[j].stride_bytes + Σ_t tables[t].scale_bytes · tables[t][ o restricted to the axes t depends on ]
//
//   ByteMap map = lower(selection, layout.data_offset, layout.strides_bytes(), itemsize);     // tables are shared, not copied
//   if (map.contiguous()) read_range(file, …, map.base, map.size_bytes());
//
// Plain data; keeps its tables alive.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lowtide/index/selection.h"

namespace lowtide {

struct ByteAxis {
  std::int64_t extent = 0;
  std::int64_t stride_bytes = 0;  // 0 on an axis that only tables depend on
};

struct OffsetTable {
  std::vector<std::size_t> axes;      // axes it depends on, ascending, at least one, each of extent > 1
  std::vector<std::int64_t> strides;  // entries per step along each of those axes; may be negative
  Entries entries;                    // from where all those indices are zero
  std::int64_t scale_bytes = 1;       // of an entry
  std::shared_ptr<const void> owner;
};

struct ByteMap {
  std::int64_t base = 0;
  std::size_t itemsize = 1;
  std::vector<ByteAxis> axes;
  std::vector<OffsetTable> tables;

  Shape shape() const;
  std::int64_t size() const;  // elements
  std::uint64_t size_bytes() const { return static_cast<std::uint64_t>(size()) * itemsize; }
  // No tables, and the elements in C order are one contiguous range that starts at base.
  bool contiguous() const;
};

// `strides_bytes` has one entry for each axis of the source.
ByteMap lower(const Selection& selection, std::int64_t base, std::span<const std::int64_t> strides_bytes,
              std::size_t itemsize);

}  // namespace lowtide
