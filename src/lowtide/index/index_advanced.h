// Integer arrays and masks as indices: turns the axes they replace into tables; internal to index/.
//
//   a[:, rows, mask]   →   view = a[:, :, :], advanced = {rows at axis 1, mask at axis 2}, position = 1
//
// Each index array writes one table over those broadcast axes along which it varies, so a[np.ix_(rows, columns)] costs
// rows + columns entries, not their product. A table of the view that depends on a replaced axis is gathered anew.
//
// Thread-safe: pure functions. Tables are leased (Purpose::index) before they are allocated.
#pragma once

#include <cstdint>
#include <span>

#include "lowtide/index/selection.h"
#include "lowtide/index/selection_parts.h"

namespace lowtide {

// One integer array, or one mask, which stands for as many integer arrays as it has dimensions.
struct AdvancedIndex {
  std::size_t axis = 0;       // of the indexed array, for messages
  std::size_t view_axis = 0;  // first axis of the view that it replaces
  std::size_t axis_count = 0;
  const IndexArray* array = nullptr;  // exactly one of the two
  const Mask* mask = nullptr;
  Shape shape;  // what it brings to the broadcast: the array's shape, or {trues in the mask}
};

std::int64_t count_trues(const Mask& mask);

// The broadcast axes become axes [position, position + n) of the result. Throws as Selection::index does.
SelectionParts gather(const SelectionParts& view, std::span<const AdvancedIndex> advanced, std::size_t position,
                      std::int64_t most_size);

}  // namespace lowtide
