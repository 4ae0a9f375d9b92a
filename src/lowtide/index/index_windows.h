// Windows given element by element (starts[:, None] + np.arange(1024)): recognised, they need one offset a window instead of one an element.
//
//   if (const std::int64_t extent = window_extent(selection, indices)) …       // 0 for anything else
//
// Pure.
#pragma once

#include <cstdint>
#include <span>

#include "lowtide/index/selection.h"

namespace lowtide {

// The length of the windows if the first index is an integer array of two or more dimensions whose rows all count up by one within the
// first axis, and the others are slices, `...` or new axes; else 0.
std::int64_t window_extent(const Selection& selection, std::span<const Index> indices);

}  // namespace lowtide
