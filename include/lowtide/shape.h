// Shapes, and the order in which an array's elements follow each other in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lowtide {

using Shape = std::vector<std::int64_t>;
inline constexpr std::size_t max_ndim = 64;  // NumPy 2's limit

enum class Order : std::uint8_t { c, fortran };
enum class Endian : std::uint8_t { little, big };
inline constexpr Endian native_endian = Endian::little;

}  // namespace lowtide
