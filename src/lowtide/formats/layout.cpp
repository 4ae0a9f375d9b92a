#include "lowtide/formats/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "lowtide/base/checked.h"
#include "lowtide/error.h"

namespace lowtide {

std::uint64_t Layout::data_bytes() const {
  std::uint64_t bytes = itemsize(dtype);
  for (const std::int64_t extent : shape) bytes *= static_cast<std::uint64_t>(extent);
  return bytes;
}

std::vector<std::int64_t> Layout::strides_bytes() const {
  std::vector<std::int64_t> strides(shape.size());
  auto stride = static_cast<std::int64_t>(itemsize(dtype));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = order == Order::c ? shape.size() - 1 - i : i;
    strides[axis] = stride;
    stride *= std::max<std::int64_t>(shape[axis], 1);
  }
  return strides;
}

std::uint64_t checked_bytes(const Shape& shape, DType dtype, std::string_view path) {
  if (shape.size() > max_ndim) {
    throw FormatError(fmt::format("{}: {} dimensions; at most {} are supported", path, shape.size(), max_ndim));
  }
  bool empty = false;
  // An extent of 0 counts as 1 here, so that strides of an empty array cannot overflow either.
  std::optional<std::int64_t> bytes = static_cast<std::int64_t>(itemsize(dtype));
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      throw FormatError(fmt::format("{}: negative extent {} in shape ({})", path, extent, fmt::join(shape, ", ")));
    empty = empty || extent == 0;
    if (bytes) bytes = checked_multiply<std::int64_t>(*bytes, std::max<std::int64_t>(extent, 1));
  }
  if (!bytes) {
    throw FormatError(
        fmt::format("{}: shape ({}) of {} is more than 2^63 - 1 bytes", path, fmt::join(shape, ", "), name(dtype)));
  }
  return empty ? 0 : static_cast<std::uint64_t>(*bytes);
}

}  // namespace lowtide
