// What a Selection is made of while it is being derived from another one; internal to array/.
//
//   SelectionParts parts{selection.base(), selection.axes(), selection.tables()};
//   parts.axes[0].extent = 1;
//   simplify(parts);
//
// Plain data; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "lowtide/array/selection.h"

namespace lowtide {

struct SelectionParts {
  std::int64_t base = 0;
  std::vector<Axis> axes;
  std::vector<OffsetTable> tables;
};

// Restores what Selection promises of its tables: none in an empty selection, none that depends on an axis of one element,
// axes in ascending order.
void simplify(SelectionParts& parts);

// Keeps `count` elements of one axis: begin, begin + step, … . REQUIRES: count > 0 implies that all of them exist.
void cut(SelectionParts& parts, std::size_t axis, std::int64_t begin, std::int64_t step, std::int64_t count);

}  // namespace lowtide
