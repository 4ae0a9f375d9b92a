#include "lowtide/index/index_scan.h"

#include <fmt/format.h>

#include <stdexcept>

#include "lowtide/index/index_advanced.h"

namespace lowtide {

void collapse(Shape& shape, std::vector<std::int64_t>& strides) {
  std::size_t last = 0;  // axes [0, last] are done
  if (shape.empty()) {
    shape = {1};
    strides = {0};
  }
  for (std::size_t i = 1; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (shape[last] == 1 || strides[last] == strides[i] * shape[i]) {
      shape[last] *= shape[i];
    } else {
      shape[++last] = shape[i];
    }
    strides[last] = strides[i];
  }
  shape.resize(last + 1);
  strides.resize(last + 1);
}

void throw_out_of_bounds(const IndexArray& array, std::int64_t extent, std::size_t axis) {
  for_each_row(reinterpret_cast<const std::byte*>(array.data), array.shape, array.strides_bytes,
               [&](const std::byte* row, auto) {
                 for (std::int64_t i = 0; i < array.shape.back(); ++i) {
                   const std::int64_t index = load_index(row + i * array.strides_bytes.back());
                   if (-extent <= index && index < extent) continue;
                   throw std::out_of_range(
                       fmt::format("index {} is out of bounds for axis {} with size {}", index, axis, extent));
                 }
               });
  // Unless another thread writes to the index array while it is read.
  throw std::out_of_range(fmt::format("index is out of bounds for axis {} with size {}", axis, extent));
}

std::int64_t count_trues(const Mask& mask) {
  Shape shape = mask.shape;
  std::vector<std::int64_t> strides = mask.strides_bytes;
  collapse(shape, strides);
  std::int64_t count = 0;
  Pace pace;
  for_each_row(reinterpret_cast<const std::byte*>(mask.data), shape, strides, [&](const std::byte* row, auto) {
    const auto sweep = [&](std::int64_t begin, std::int64_t end, std::int64_t stride) {
      std::int64_t trues = 0;
      for (std::int64_t i = begin; i < end; ++i) trues += row[i * stride] != std::byte{0};
      return trues;
    };
    in_slices(shape.back(), pace, [&](std::int64_t begin, std::int64_t end) {
      count += strides.back() == 1 ? sweep(begin, end, 1) : sweep(begin, end, strides.back());
    });
  });
  return count;
}

}  // namespace lowtide
