// Tokens into the two arrays a language model trains on, in one pass: inputs, and the same shifted by one.
//
//   TokenRange r = widen(tokens, DType::uint16, count, x, y, DType::int64);   // x[i] = y[i] = tokens[i]; either may be null
//   if (r.least < 0 || r.greatest >= vocabulary) …
//
// From any integer dtype to int64, int32 or uint16. A value that does not fit the target is stored modulo 2^bits; the caller sees it
// in the range.
//
// Thread-safe: pure. Needs no alignment; nothing overlaps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/dtype.h"

namespace lowtide {

struct TokenRange {
  std::int64_t least = 0;      // of the negative values; 0 if there are none
  std::uint64_t greatest = 0;  // of the values that are not negative; 0 if there are none
};

// Throws std::invalid_argument unless `from` is an integer dtype and `to` is int64, int32 or uint16. Counts of 0 give {0, 0}.
TokenRange widen(const std::byte* tokens, DType from, std::size_t count, std::byte* x, std::byte* y, DType to);

}  // namespace lowtide
