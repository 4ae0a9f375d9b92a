// A whole selection into new memory.
//
//   Buffer b = read_selection(source, selection);     // admitted first: result and working memory in one lease
//
// Thread-safe. Blocks for the disk, interruptible.
#pragma once

#include "lowtide/array.h"
#include "lowtide/array/source.h"
#include "lowtide/memory/spare_blocks.h"

namespace lowtide {

// Dense memory for results that are made elsewhere. Not zeroed.
Buffer new_buffer(const Shape& shape, DType dtype);

Buffer read_selection(const Source& source, const Selection& selection);

// The same into memory of the caller's: dense, C order, native byte order. REQUIRES: staging of gather_needs_of_any().
void read_selection_into(const Source& source, const Selection& selection, std::byte* memory, Staging& staging);

}  // namespace lowtide
