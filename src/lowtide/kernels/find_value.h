// Where a value is first seen among integers.
//
//   std::size_t at = find_value(tokens, DType::uint16, count, 50256);     // count if it is not there
//
// Thread-safe: pure. Needs no alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/dtype.h"

namespace lowtide {

// Whether integers of this dtype can have the value; false for dtypes that are not integers.
bool holds_value(DType dtype, std::uint64_t value);
// REQUIRES: holds_value(dtype, value).
std::size_t find_value(const std::byte* data, DType dtype, std::size_t count, std::uint64_t value);

}  // namespace lowtide
