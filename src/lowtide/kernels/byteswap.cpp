#include "lowtide/kernels/byteswap.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace lowtide {
namespace {

std::uint16_t reversed(std::uint16_t x) { return __builtin_bswap16(x); }
std::uint32_t reversed(std::uint32_t x) { return __builtin_bswap32(x); }
std::uint64_t reversed(std::uint64_t x) { return __builtin_bswap64(x); }

template <class Unit>
void swap_run(std::byte* data, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Unit unit;
    std::memcpy(&unit, data + i * sizeof unit, sizeof unit);
    unit = reversed(unit);
    std::memcpy(data + i * sizeof unit, &unit, sizeof unit);
  }
}

}  // namespace

void byteswap(std::byte* data, std::size_t unit_bytes, std::size_t count) {
  switch (unit_bytes) {
    case 1:
      return;
    case 2:
      return swap_run<std::uint16_t>(data, count);
    case 4:
      return swap_run<std::uint32_t>(data, count);
    case 8:
      return swap_run<std::uint64_t>(data, count);
    default:
      throw std::invalid_argument(fmt::format("byteswap of {}-byte units; 1, 2, 4 or 8 are possible", unit_bytes));
  }
}

void byteswap(std::byte* data, DType dtype, std::size_t count) {
  const bool complex = dtype == DType::complex64 || dtype == DType::complex128;
  const std::size_t units = complex ? 2 : 1;
  byteswap(data, itemsize(dtype) / units, count * units);
}

}  // namespace lowtide
