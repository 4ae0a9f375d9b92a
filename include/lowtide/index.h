// What can stand between the brackets of an array: Python's and NumPy's indices as values.
//
//   std::vector<Index> rows = {Slice{0, 100, 2}, NewAxis{}, std::int64_t{3}};
//
// Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "lowtide/shape.h"

namespace lowtide {

// Python's slice: absent bounds are nullopt.
struct Slice {
  std::optional<std::int64_t> start = {};
  std::optional<std::int64_t> stop = {};
  std::optional<std::int64_t> step = {};
};
struct NewAxis {};
struct Ellipsis {};
// An integer array used as an index. The data is read while indexing runs and is not kept. Any strides (in bytes).
struct IndexArray {
  const std::int64_t* data = nullptr;
  Shape shape;
  std::vector<std::int64_t> strides_bytes;
};
// A boolean mask; consumes shape.size() axes, whose extents must match. Same lifetime rule.
struct Mask {
  const bool* data = nullptr;
  Shape shape;
  std::vector<std::int64_t> strides_bytes;
};
using Index = std::variant<std::int64_t, Slice, NewAxis, Ellipsis, IndexArray, Mask>;

}  // namespace lowtide
