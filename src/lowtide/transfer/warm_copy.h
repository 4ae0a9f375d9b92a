// Elements at regular places of a file that is all in the page cache, copied straight out of a map: nothing between them is touched.
//
//   const StridedBytes wanted{offset_of_first, strides_bytes, memory_strides_bytes, shape, itemsize};
//   if (!copy_warm(file, wanted, memory)) …the general way…                        // a column, every tenth row, one element
//
// Thread-safe on different memory. Blocks: only if a page went away. REQUIRES: the file is pinned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lowtide/io/file.h"

namespace lowtide {

struct StridedBytes {
  std::int64_t offset = 0;                       // of the first element in the file
  std::span<const std::int64_t> strides;         // bytes; may be negative
  std::span<const std::int64_t> memory_strides;  // likewise
  std::span<const std::int64_t> shape;           // no extent is 0
  std::size_t itemsize = 1;
};

// `memory` is where the first element goes. False if the file is not all cached or was cut short meanwhile: nothing is lost then but time.
bool copy_warm(io::File& file, const StridedBytes& wanted, std::byte* memory);

}  // namespace lowtide
