// lowtide/compute.h: arrays in other shapes, and several as one. None of it reads.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lowtide/array/state.h"
#include "lowtide/compute.h"
#include "lowtide/error.h"
#include "lowtide/exec/array_node.h"
#include "lowtide/exec/joined_source.h"
#include "lowtide/source/file_source.h"
#include "lowtide/source/memory_source.h"

namespace lowtide {
namespace {

std::string shape_text(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ","), shape.size() == 1 ? "," : "");
}

std::int64_t size_of(const Shape& shape) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(size, extent, &size)) return -1;
  }
  return size;
}

// The selection with its axes split, or axes of one element added and taken away; nothing where axes would have to be joined.
std::optional<Selection> split(const Selection& selection, const Shape& shape) {
  if (selection.size() == 0 || !selection.tables().empty()) return std::nullopt;
  std::vector<Axis> axes;
  std::size_t old = 0;
  std::int64_t left = 1;  // of the axis being split
  const auto take = [&] {
    while (old < selection.ndim() && selection.axes()[old].extent == 1) ++old;
    if (old == selection.ndim()) return false;
    left = selection.axes()[old++].extent;
    return true;
  };
  for (const std::int64_t extent : shape) {
    if (extent == 1) {
      axes.push_back({1, 0, 0});
      continue;
    }
    if (left == 1 && !take()) return std::nullopt;
    if (left % extent != 0) return std::nullopt;
    left /= extent;
    const Axis& from = selection.axes()[old - 1];
    axes.push_back({extent, from.step * left, from.input});
  }
  return Selection::restored(selection.inputs(), std::move(axes));
}

// The same bytes under another shape, where the array is all of a file or of memory in C order.
std::shared_ptr<const Source> relabelled(const Array& a, const Shape& shape) {
  if (!(a.selection() == a.source()->whole())) return nullptr;
  if (const FileSource* file = a.source()->in_one_file()) {
    if (file->layout().order == Order::fortran && a.ndim() > 1) return nullptr;
    Layout layout = file->layout();
    layout.shape = shape;
    layout.order = Order::c;
    return std::make_shared<const FileSource>(file->shared_file(), std::move(layout), file->live());
  }
  if (const auto* memory = dynamic_cast<const MemorySource*>(a.source().get())) {
    const auto view = memory->view(a.selection());
    if (!view || view->strides_bytes != dense_strides(a.shape(), itemsize(a.dtype()))) return nullptr;
    return std::make_shared<const MemorySource>(view->data, shape, dense_strides(shape, itemsize(a.dtype())), a.dtype(),
                                                native_endian, a.source());
  }
  return nullptr;
}

}  // namespace

Array reshape(const Array& a, const Shape& shape) {
  if (size_of(shape) != a.size()) {
    throw std::invalid_argument(
        fmt::format("cannot reshape array of size {} into shape {}", a.size(), shape_text(shape)));
  }
  if (shape == a.shape()) return a;
  if (std::optional<Selection> selection = split(a.selection(), shape)) return a.with(std::move(*selection));
  if (std::shared_ptr<const Source> source = relabelled(a, shape)) {
    Selection all = source->whole();
    return Array(std::make_shared<const ArrayState>(std::move(source), std::move(all), a.writable()));
  }
  return array_of_source(std::make_shared<const ReshapedSource>(a, shape));
}

Array concat(std::span<const Array> arrays, std::int64_t axis) {
  if (arrays.empty()) throw std::invalid_argument("need at least one array to concatenate");
  const Shape first = arrays[0].shape();
  const auto ndim = static_cast<std::int64_t>(first.size());
  if (ndim == 0) throw std::invalid_argument("zero-dimensional arrays cannot be concatenated");
  if (axis < -ndim || axis >= ndim)
    throw std::out_of_range(fmt::format("axis {} is out of bounds for array of dimension {}", axis, ndim));
  const auto along = static_cast<std::size_t>(axis < 0 ? axis + ndim : axis);
  for (std::size_t i = 1; i < arrays.size(); ++i) {
    Shape shape = arrays[i].shape();
    if (shape.size() == first.size()) shape[along] = first[along];
    if (shape != first) {
      throw std::invalid_argument(
          fmt::format("all the input array dimensions except for the concatenation axis must match exactly: {} and {}",
                      shape_text(first), shape_text(arrays[i].shape())));
    }
    if (arrays[i].dtype() != arrays[0].dtype()) throw TypeError("arrays to join must have one dtype: cast them first");
  }
  if (arrays.size() == 1) return arrays[0];
  return array_of_source(std::make_shared<const JoinedSource>(std::vector<Array>(arrays.begin(), arrays.end()), along));
}

}  // namespace lowtide
