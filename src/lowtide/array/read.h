// A whole selection of a source into new memory.
//
//   Buffer b = read_selection(source, selection);     // admitted first: result and working memory in one lease
//
// Thread-safe. Blocks for the disk, interruptible.
#pragma once

#include "lowtide/array.h"
#include "lowtide/source/source.h"

namespace lowtide {

// Dense memory for results that are made elsewhere. Not zeroed.
Buffer new_buffer(const Shape& shape, DType dtype);

Buffer read_selection(const Source& source, Selection selection);

}  // namespace lowtide
