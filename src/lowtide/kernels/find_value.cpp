#include "lowtide/kernels/find_value.h"

#include <cstring>

namespace lowtide {
namespace {

template <class Unit>
Unit load(const std::byte* at) {
  Unit unit;
  std::memcpy(&unit, at, sizeof unit);
  return unit;
}

// Strips without a branch inside are compared whole, which vectorises; the one that has it is looked through again.
template <class Unit>
std::size_t find(const std::byte* data, std::size_t count, Unit value) {
  constexpr std::size_t strip = 128 / sizeof(Unit);
  std::size_t i = 0;
  for (; i + strip <= count; i += strip) {
    Unit equal = 0;
    for (std::size_t k = 0; k < strip; ++k) {
      equal = static_cast<Unit>(equal | static_cast<Unit>(load<Unit>(data + (i + k) * sizeof(Unit)) == value));
    }
    if (equal != 0) break;
  }
  while (i < count && load<Unit>(data + i * sizeof(Unit)) != value) ++i;
  return i;
}

}  // namespace

bool holds_value(DType dtype, std::uint64_t value) {
  switch (dtype) {
    case DType::int8:
      return value <= INT8_MAX;
    case DType::int16:
      return value <= INT16_MAX;
    case DType::int32:
      return value <= INT32_MAX;
    case DType::int64:
      return value <= INT64_MAX;
    case DType::uint8:
      return value <= UINT8_MAX;
    case DType::uint16:
      return value <= UINT16_MAX;
    case DType::uint32:
      return value <= UINT32_MAX;
    case DType::uint64:
      return true;
    default:
      return false;
  }
}

std::size_t find_value(const std::byte* data, DType dtype, std::size_t count, std::uint64_t value) {
  switch (itemsize(dtype)) {
    case 1:
      return find(data, count, static_cast<std::uint8_t>(value));
    case 2:
      return find(data, count, static_cast<std::uint16_t>(value));
    case 4:
      return find(data, count, static_cast<std::uint32_t>(value));
    default:
      return find(data, count, value);
  }
}

}  // namespace lowtide
