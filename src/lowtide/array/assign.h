// Values into a selection of a file, in place: broadcast, cast and byte-swapped on the way.
//
//   assign_selection(source, selection, values);       // NumPy's rules; std::invalid_argument when shapes do not broadcast
//
// One writer at a time for a file within the process; concurrent readers may see old and new parts. Blocks for the disk, interruptible.
#pragma once

#include "lowtide/array.h"
#include "lowtide/source/source.h"

namespace lowtide {

void assign_selection(const Source& source, const Selection& selection, const ConstView& values);

}  // namespace lowtide
