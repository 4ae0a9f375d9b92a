#include "lowtide/index/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "lowtide/index/selection_parts.h"

namespace lowtide {
namespace {

bool any_empty(const std::vector<Axis>& axes) {
  return std::any_of(axes.begin(), axes.end(), [](const Axis& axis) { return axis.extent == 0; });
}

void sort_axes(Table& table) {
  if (std::is_sorted(table.axes.begin(), table.axes.end())) return;
  std::vector<std::pair<std::size_t, std::int64_t>> pairs;
  for (std::size_t i = 0; i < table.axes.size(); ++i) pairs.emplace_back(table.axes[i], table.strides[i]);
  std::sort(pairs.begin(), pairs.end());
  for (std::size_t i = 0; i < pairs.size(); ++i) std::tie(table.axes[i], table.strides[i]) = pairs[i];
}

void drop_single_axes(Table& table, const std::vector<Axis>& axes) {
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

// As NumPy, which counts an empty axis as one element here.
void check_size(const std::vector<Axis>& axes, std::int64_t most_size) {
  std::int64_t size = 1;
  for (const Axis& axis : axes) {
    if (axis.extent > 1 && (__builtin_mul_overflow(size, axis.extent, &size) || size > most_size)) {
      throw std::invalid_argument(
          "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.");
    }
  }
}

void simplify(SelectionParts& parts) {
  if (parts.tables.empty()) return;
  if (any_empty(parts.axes)) {
    parts.tables.clear();
    return;
  }
  for (Table& table : parts.tables) {
    drop_single_axes(table, parts.axes);
    sort_axes(table);
    if (table.axes.empty()) parts.inputs[table.input].start += table.entries[0];
  }
  std::erase_if(parts.tables, [](const Table& table) { return table.axes.empty(); });
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
  if (cut_axis.step != 0) parts.inputs[cut_axis.input].start += begin * cut_axis.step;
  cut_axis.step *= step;
  for (Table& table : parts.tables) {
    for (std::size_t i = 0; i < table.axes.size(); ++i) {
      if (table.axes[i] != axis) continue;
      table.entries.skip(begin * table.strides[i]);
      table.strides[i] *= step;
    }
  }
}

Selection::Selection(std::int64_t most_size, SelectionParts parts)
    : most_size_(most_size),
      inputs_(std::move(parts.inputs)),
      axes_(std::move(parts.axes)),
      tables_(std::move(parts.tables)) {}

Selection Selection::whole(const Shape& shape, std::int64_t most_size) {
  SelectionParts parts;
  parts.inputs.reserve(shape.size());
  parts.axes.reserve(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    parts.inputs.push_back({shape[i], 0});
    parts.axes.push_back({shape[i], 1, i});
  }
  return Selection(most_size, std::move(parts));
}

Selection Selection::restored(std::vector<Input> inputs, std::vector<Axis> axes, std::int64_t most_size) {
  const auto refuse = [] { throw std::invalid_argument("not a view of an array of this shape"); };
  if (inputs.size() > max_ndim || axes.size() > max_ndim) refuse();
  std::vector<std::pair<std::int64_t, std::int64_t>> reach;  // lowest and highest index
  reach.reserve(inputs.size());
  for (const Input& input : inputs) reach.emplace_back(input.start, input.start);
  for (const Axis& axis : axes) {
    if (axis.extent < 0 || (axis.step != 0 && axis.input >= inputs.size())) refuse();
    if (axis.step == 0 || axis.extent == 0) continue;
    std::int64_t& end = axis.step < 0 ? reach[axis.input].first : reach[axis.input].second;
    std::int64_t length = 0;
    if (__builtin_mul_overflow(axis.extent - 1, axis.step, &length) || __builtin_add_overflow(end, length, &end))
      refuse();
  }
  for (std::size_t i = 0; i < inputs.size() && !any_empty(axes); ++i) {
    if (reach[i].first < 0 || reach[i].second >= inputs[i].extent) refuse();
  }
  check_size(axes, most_size);
  return Selection(most_size, {std::move(inputs), std::move(axes), {}});
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

Selection Selection::transpose(std::span<const std::size_t> permutation) const {
  if (permutation.size() != ndim()) throw std::invalid_argument("axes don't match array");
  constexpr std::size_t unset = max_ndim + 1;
  std::vector<std::size_t> new_of_old(ndim(), unset);
  SelectionParts parts{inputs_, {}, tables_};
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
  for (Table& table : parts.tables) {
    for (std::size_t& axis : table.axes) axis = new_of_old[axis];
  }
  simplify(parts);
  return Selection(most_size_, std::move(parts));
}

Selection Selection::narrow(std::size_t axis, std::int64_t begin, std::int64_t end) const {
  assert(axis < ndim() && 0 <= begin && begin <= end && end <= axes_[axis].extent);
  SelectionParts parts{inputs_, axes_, tables_};
  cut(parts, axis, begin, 1, end - begin);
  simplify(parts);
  return Selection(most_size_, std::move(parts));
}

Selection Selection::rows(std::int64_t begin, std::int64_t end) const { return narrow(0, begin, end); }

}  // namespace lowtide
