#include "lowtide/array/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "lowtide/array/selection_parts.h"

namespace lowtide {
namespace {

bool any_empty(const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.extent == 0; });
}

void sort_axes(OffsetTable& table) {
  if (std::is_sorted(table.axes.begin(), table.axes.end())) return;
  std::vector<std::pair<std::size_t, std::int64_t>> pairs;
  for (std::size_t i = 0; i < table.axes.size(); ++i) pairs.emplace_back(table.axes[i], table.strides[i]);
  std::sort(pairs.begin(), pairs.end());
  for (std::size_t i = 0; i < pairs.size(); ++i) std::tie(table.axes[i], table.strides[i]) = pairs[i];
}

void drop_single_axes(OffsetTable& table, const std::vector<Axis>& axes) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < table.axes.size(); ++i) {
    if (axes[table.axes[i]].extent == 1) continue;
    table.axes[kept] = table.axes[i];
    table.strides[kept] = table.strides[i];
    ++kept;
  }
  table.axes.resize(kept);
  table.strides.resize(kept);
}

}  // namespace

void simplify(SelectionParts& parts) {
  if (parts.tables.empty()) return;
  if (any_empty(parts.axes)) {
    parts.tables.clear();
    return;
  }
  for (OffsetTable& table : parts.tables) {
    drop_single_axes(table, parts.axes);
    sort_axes(table);
    if (table.axes.empty()) parts.base += *table.data;
  }
  std::erase_if(parts.tables, [](const OffsetTable& table) { return table.axes.empty(); });
}

void cut(SelectionParts& parts, std::size_t axis, std::int64_t begin, std::int64_t step, std::int64_t count) {
  Axis& cut_axis = parts.axes[axis];
  cut_axis.extent = count;
  if (count == 0) {
    parts.tables.clear();
    return;
  }
  // A step past the end is legal while one element is left, and its product with a stride may not fit.
  if (count == 1) step = 1;
  parts.base += begin * cut_axis.stride_bytes;
  cut_axis.stride_bytes *= step;
  for (OffsetTable& table : parts.tables) {
    for (std::size_t i = 0; i < table.axes.size(); ++i) {
      if (table.axes[i] != axis) continue;
      table.data += begin * table.strides[i];
      table.strides[i] *= step;
    }
  }
}

Selection::Selection(std::size_t itemsize, SelectionParts parts)
    : base_(parts.base), itemsize_(itemsize), axes_(std::move(parts.axes)), tables_(std::move(parts.tables)) {}

Selection Selection::whole(const Layout& layout) {
  SelectionParts parts;
  parts.base = static_cast<std::int64_t>(layout.data_offset);
  const std::vector<std::int64_t> strides = layout.strides_bytes();
  parts.axes.reserve(strides.size());
  for (std::size_t i = 0; i < strides.size(); ++i) parts.axes.push_back({layout.shape[i], strides[i]});
  return Selection(lowtide::itemsize(layout.dtype), std::move(parts));
}

Shape Selection::shape() const {
  Shape shape;
  shape.reserve(axes_.size());
  for (const Axis& axis : axes_) shape.push_back(axis.extent);
  return shape;
}

std::int64_t Selection::size() const {
  if (any_empty(axes_)) return 0;
  std::int64_t size = 1;
  for (const Axis& axis : axes_) size *= axis.extent;
  return size;
}

bool Selection::contiguous() const {
  if (any_empty(axes_)) return true;
  if (!tables_.empty()) return false;
  auto expected = static_cast<std::int64_t>(itemsize_);
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    if (axis->extent == 1) continue;
    if (axis->stride_bytes != expected) return false;
    expected *= axis->extent;
  }
  return true;
}

Selection Selection::transpose(std::span<const std::size_t> permutation) const {
  if (permutation.size() != ndim()) throw std::invalid_argument("axes don't match array");
  constexpr std::size_t unset = max_ndim + 1;
  std::vector<std::size_t> new_of_old(ndim(), unset);
  SelectionParts parts{base_, {}, tables_};
  parts.axes.reserve(ndim());
  for (std::size_t i = 0; i < permutation.size(); ++i) {
    const std::size_t old = permutation[i];
    if (old >= ndim()) {
      throw std::invalid_argument(fmt::format("axis {} is out of bounds for array of dimension {}", old, ndim()));
    }
    if (new_of_old[old] != unset) throw std::invalid_argument("repeated axis in transpose");
    new_of_old[old] = i;
    parts.axes.push_back(axes_[old]);
  }
  for (OffsetTable& table : parts.tables) {
    for (std::size_t& axis : table.axes) axis = new_of_old[axis];
  }
  simplify(parts);
  return Selection(itemsize_, std::move(parts));
}

Selection Selection::narrow(std::size_t axis, std::int64_t begin, std::int64_t end) const {
  assert(axis < ndim() && 0 <= begin && begin <= end && end <= axes_[axis].extent);
  SelectionParts parts{base_, axes_, tables_};
  cut(parts, axis, begin, 1, end - begin);
  simplify(parts);
  return Selection(itemsize_, std::move(parts));
}

Selection Selection::rows(std::int64_t begin, std::int64_t end) const { return narrow(0, begin, end); }

}  // namespace lowtide
