// N-dimensional strided copy between two places in memory.
//
//   // a C-ordered 3 x 4 float32 array into its transpose
//   copy_strided(dst, {{4, 12}}, src, {{16, 4}}, {{3, 4}}, 4);
//
// Axes are reordered, reversed and merged until what is contiguous in both is copied as one run; where the fastest
// axis of one is not the fastest of the other, square tiles keep both in cache.
//
// Thread-safe: pure. Allocates nothing. Needs no alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lowtide {

// Copies item (i0, i1, …) at src + Σ i·src_strides to dst + Σ i·dst_strides, for every index within shape. Strides are
// in bytes and may be negative; a source stride may be 0 (broadcast). The items of dst must not overlap one another or
// src. Throws std::invalid_argument if the spans differ in length, have more than 64 entries or an extent is negative.
void copy_strided(std::byte* dst, std::span<const std::int64_t> dst_strides, const std::byte* src,
                  std::span<const std::int64_t> src_strides, std::span<const std::int64_t> shape, std::size_t itemsize);

}  // namespace lowtide
