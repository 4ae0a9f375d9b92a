// A gather from a file that is all in the page cache: nothing to wait for, so nothing to sort, merge or queue; copies out of a map, on
// several threads.
//
//   if (!gather_warm(file, walk, memory)) …the general way…
//
// Thread-safe on different memory. REQUIRES: the file is pinned.
#pragma once

#include <cstddef>

#include "lowtide/io/file.h"
#include "lowtide/transfer/walk.h"

namespace lowtide {

// False if the file is not all cached, the runs are not contiguous in memory, or the file was cut short meanwhile: nothing is lost then
// but time.
bool gather_warm(io::File& file, const Walk& walk, std::byte* memory);

}  // namespace lowtide
