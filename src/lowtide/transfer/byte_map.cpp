#include "lowtide/transfer/byte_map.h"

#include <algorithm>

namespace lowtide {

Shape ByteMap::shape() const {
  Shape shape;
  shape.reserve(axes.size());
  for (const ByteAxis& axis : axes) shape.push_back(axis.extent);
  return shape;
}

std::int64_t ByteMap::size() const {
  std::int64_t size = 1;
  for (const ByteAxis& axis : axes) {
    if (axis.extent == 0) return 0;
    size *= axis.extent;
  }
  return size;
}

bool ByteMap::contiguous() const {
  if (size() == 0) return true;
  if (!tables.empty()) return false;
  auto expected = static_cast<std::int64_t>(itemsize);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (axis->extent == 1) continue;
    if (axis->stride_bytes != expected) return false;
    expected *= axis->extent;
  }
  return true;
}

ByteMap lower(const Selection& selection, std::int64_t base, std::span<const std::int64_t> strides_bytes,
              std::size_t itemsize) {
  ByteMap map{base, itemsize, {}, {}};
  map.axes.reserve(selection.ndim());
  for (const Axis& axis : selection.axes()) {
    map.axes.push_back({axis.extent, axis.step == 0 ? 0 : axis.step * strides_bytes[axis.input]});
  }
  if (map.size() == 0) return map;  // whose starts may be anything
  for (std::size_t i = 0; i < strides_bytes.size(); ++i) map.base += selection.inputs()[i].start * strides_bytes[i];
  map.tables.reserve(selection.tables().size());
  for (const Table& table : selection.tables()) {
    map.tables.push_back({table.axes, table.strides, table.entries, strides_bytes[table.input], table.owner});
  }
  return map;
}

}  // namespace lowtide
