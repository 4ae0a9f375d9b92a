// Element type conversion with the results of NumPy's astype on x86-64, for every pair of dtypes.
//
//   cast(src, DType::float64, dst, DType::uint8, count);     // 300.7 becomes 44, as in NumPy
//
// - to bool: anything but zero is true, NaN too; from bool: any byte but 0 counts as 1
// - integer to integer: modulo 2^bits
// - float to integer: truncated. What does not fit is undefined in C++; here it is what x86 gives: int8, int16, int32,
//   uint8, uint16 through a 32-bit truncation whose overflow and NaN are INT32_MIN, uint32 and int64 through a 64-bit
//   one, uint64 as int64 below 2^63 and 0 from 2^64 up. (NumPy's own uint32 results for NaN and below -2^31 differ
//   between the vectorised part of an array and its tail; here they are the tail's everywhere.)
// - to a narrower float: rounded once, ties to even; complex to real drops the imaginary part
// - a dtype to itself: copied, bits untouched
//
// Thread-safe: pure. Needs no alignment. dst holds count items and does not overlap src.
#pragma once

#include <cstddef>

#include "lowtide/dtype.h"

namespace lowtide {

void cast(const std::byte* src, DType from, std::byte* dst, DType to, std::size_t count);

}  // namespace lowtide
