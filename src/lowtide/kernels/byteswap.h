// Byte order reversal in place.
//
//   byteswap(data, DType::complex64, count);     // each of the two halves of an item on its own
//
// Thread-safe: pure. Needs no alignment.
#pragma once

#include <cstddef>

#include "lowtide/dtype.h"

namespace lowtide {

// Reverses the bytes of `count` units of 1, 2, 4 or 8 bytes; throws std::invalid_argument for other sizes.
void byteswap(std::byte* data, std::size_t unit_bytes, std::size_t count);
// Reverses `count` items of a dtype.
void byteswap(std::byte* data, DType dtype, std::size_t count);

}  // namespace lowtide
