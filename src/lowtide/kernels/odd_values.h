// Values worth a word in a check: NaN, infinities, and booleans that are neither 0 nor 1.
//
//   OddValues odd;
//   odd.count(data, DType::float32, count);         // as often as there are blocks
//
// Not thread-safe. Needs no alignment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/dtype.h"

namespace lowtide {

bool has_nan(DType dtype);

struct OddValues {
  std::uint64_t nan_count = 0;  // a complex element counts once, as NumPy's isnan and isinf count it
  std::uint64_t inf_count = 0;
  std::uint64_t bad_bool_count = 0;

  void count(const std::byte* data, DType dtype, std::uint64_t count);
};

}  // namespace lowtide
