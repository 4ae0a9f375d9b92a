// What a Selection is made of while it is being derived from another one; internal to index/.
//
//   SelectionParts parts{selection.inputs(), selection.axes(), selection.tables()};
//   parts.axes[0].extent = 1;
//   simplify(parts);
//
// Plain data; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "lowtide/index/selection.h"

namespace lowtide {

struct SelectionParts {
  std::vector<Input> inputs;
  std::vector<Axis> axes;
  std::vector<Table> tables;
};

// Restores what Selection promises of its tables: none in an empty selection, none that depends on an axis of one element,
// axes in ascending order.
void simplify(SelectionParts& parts);

// Throws std::invalid_argument, in NumPy's words, for a result of more than `most_size` elements.
void check_size(const std::vector<Axis>& axes, std::int64_t most_size);

// Keeps `count` elements of one axis: begin, begin + step, … . REQUIRES: count > 0 implies that all of them exist.
void cut(SelectionParts& parts, std::size_t axis, std::int64_t begin, std::int64_t step, std::int64_t count);

}  // namespace lowtide
