#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <stdexcept>

#include "lowtide/index/index_advanced.h"
#include "lowtide/index/index_windows.h"
#include "lowtide/index/selection.h"
#include "lowtide/index/selection_parts.h"

namespace lowtide {
namespace {

constexpr std::size_t new_axis = std::numeric_limits<std::size_t>::max();

template <class T>
const T* as(const Index& index) {
  return std::get_if<T>(&index);
}

// NumPy takes an integer array without dimensions for an integer.
const std::int64_t* as_integer(const Index& index) {
  if (const auto* array = as<IndexArray>(index)) return array->shape.empty() ? array->data : nullptr;
  return as<std::int64_t>(index);
}

std::size_t consumed_axes(const Index& index) {
  if (as<NewAxis>(index) || as<Ellipsis>(index)) return 0;
  const auto* mask = as<Mask>(index);
  return mask ? mask->shape.size() : 1;
}

struct Counts {
  std::size_t consumed = 0;  // axes that the list names, `...` not counted
  bool advanced = false;
};

// What can be said of an index list before any of its values is looked at.
Counts checked_counts(std::span<const Index> indices, std::size_t ndim) {
  if (indices.size() > 2 * max_ndim) throw std::out_of_range("too many indices for array");
  Counts counts;
  std::size_t dropped = 0, added = 0, broadcast = 0, ellipses = 0;
  for (const Index& index : indices) {
    counts.consumed += consumed_axes(index);
    ellipses += as<Ellipsis>(index) ? 1 : 0;
    if (as<NewAxis>(index)) ++added;
    if (!as<Slice>(index)) dropped += consumed_axes(index);
    const auto* array = as<IndexArray>(index);
    if (as<Mask>(index) || (array && !array->shape.empty())) {
      counts.advanced = true;
      broadcast = std::max(broadcast, array ? array->shape.size() : 1);
    }
  }
  if (ellipses > 1) throw std::out_of_range("an index can only have a single ellipsis ('...')");
  if (counts.consumed > ndim) {
    throw std::out_of_range(
        fmt::format("too many indices for array: array is {}-dimensional, but {} were indexed", ndim, counts.consumed));
  }
  const std::size_t result = ndim - dropped + added + broadcast;
  if (result > max_ndim) {
    throw std::out_of_range(
        fmt::format("number of dimensions must be within [0, {}], indexing result would have {}", max_ndim, result));
  }
  return counts;
}

void check_mask(const Mask& mask, const std::vector<Axis>& axes, std::size_t first) {
  for (std::size_t i = 0; i < mask.shape.size(); ++i) {
    // NumPy lets an empty mask dimension pass on an axis of any size.
    if (mask.shape[i] == 0 || mask.shape[i] == axes[first + i].extent) continue;
    throw std::out_of_range(
        fmt::format("boolean index did not match indexed array along axis {}; size of axis is {} but size of "
                    "corresponding boolean axis is {}",
                    first + i, axes[first + i].extent, mask.shape[i]));
  }
}

void check_masks(std::span<const Index> indices, const std::vector<Axis>& axes, std::size_t elided) {
  std::size_t axis = 0;
  for (const Index& index : indices) {
    if (const auto* mask = as<Mask>(index)) check_mask(*mask, axes, axis);
    axis += as<Ellipsis>(index) ? elided : consumed_axes(index);
  }
}

struct Cut {
  std::int64_t begin, step, count;
};

// Python's PySlice_Unpack and PySlice_AdjustIndices.
Cut resolve(const Slice& slice, std::int64_t extent) {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const std::int64_t step = std::max(slice.step.value_or(1), -largest);
  if (step == 0) throw std::invalid_argument("slice step cannot be zero");
  const std::int64_t lowest = step < 0 ? -1 : 0;
  const std::int64_t highest = step < 0 ? extent - 1 : extent;
  const auto bound = [&](const std::optional<std::int64_t>& value, std::int64_t absent) {
    if (!value) return absent;
    return std::clamp(*value < 0 ? *value + extent : *value, lowest, highest);
  };
  const std::int64_t start = bound(slice.start, step < 0 ? highest : lowest);
  const std::int64_t stop = bound(slice.stop, step < 0 ? lowest : highest);
  const std::int64_t length = step < 0 ? start - stop : stop - start;
  return {start, step, length <= 0 ? 0 : (length - 1) / (step < 0 ? -step : step) + 1};
}

std::int64_t resolve(std::int64_t index, std::int64_t extent, std::size_t axis) {
  if (index < -extent || index >= extent) {
    throw std::out_of_range(fmt::format("index {} is out of bounds for axis {} with size {}", index, axis, extent));
  }
  return index < 0 ? index + extent : index;
}

AdvancedIndex advanced_index(const Index& index, std::size_t axis, std::size_t view_axis) {
  AdvancedIndex advanced{axis, view_axis, consumed_axes(index), as<IndexArray>(index), as<Mask>(index), {}};
  if (advanced.array) {
    assert(advanced.array->strides_bytes.size() == advanced.array->shape.size());
    advanced.shape = advanced.array->shape;
  } else {
    assert(advanced.mask->strides_bytes.size() == advanced.mask->shape.size());
    advanced.shape = {count_trues(*advanced.mask)};
  }
  return advanced;
}

// Reads an index list from left to right. Integers and slices cut the parts in place; the axes that stay, new ones and
// those that advanced indices will replace are listed in `kept`.
class BasicPass {
 public:
  BasicPass(SelectionParts parts, const Counts& counts)
      : parts_(std::move(parts)), elided_(parts_.axes.size() - counts.consumed), has_advanced_(counts.advanced) {}

  void apply(const Index& index) {
    const std::int64_t* integer = as_integer(index);
    const bool is_array = as<Mask>(index) || (!integer && as<IndexArray>(index));
    note_adjacency(is_array || (integer && has_advanced_));
    if (integer) {
      cut(parts_, axis_, resolve(*integer, parts_.axes[axis_].extent, axis_), 1, 1);
      ++axis_;
    } else if (const auto* slice = as<Slice>(index)) {
      const Cut range = resolve(*slice, parts_.axes[axis_].extent);
      cut(parts_, axis_, range.begin, range.step, range.count);
      keep(1);
    } else if (as<NewAxis>(index)) {
      kept_.push_back(new_axis);
    } else if (as<Ellipsis>(index)) {
      keep(elided_);
    } else {
      advanced_.push_back(advanced_index(index, axis_, kept_.size()));
      replaced_ += advanced_.back().axis_count;
      keep(advanced_.back().axis_count);
    }
  }

  SelectionParts finish() {
    keep(parts_.axes.size() - axis_);
    simplify(parts_);
    SelectionParts view{std::move(parts_.inputs), {}, std::move(parts_.tables)};
    std::vector<std::size_t> view_axis(parts_.axes.size(), 0);
    view.axes.reserve(kept_.size());
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i] != new_axis) view_axis[kept_[i]] = i;
      view.axes.push_back(kept_[i] == new_axis ? Axis{1} : parts_.axes[kept_[i]]);
    }
    for (Table& table : view.tables) {
      for (std::size_t& axis : table.axes) axis = view_axis[axis];
    }
    return view;
  }

  std::span<const AdvancedIndex> advanced() const { return advanced_; }
  // Where the broadcast axes go: in place when all advanced indices are neighbours, else first.
  std::size_t position() const { return runs_of_advanced_ > 1 ? 0 : position_; }

 private:
  void keep(std::size_t count) {
    for (; count > 0; --count) kept_.push_back(axis_++);
  }

  // Even a `...` that stands for no axis separates its neighbours.
  void note_adjacency(bool is_advanced) {
    if (is_advanced && !after_advanced_ && ++runs_of_advanced_ == 1) position_ = kept_.size() - replaced_;
    after_advanced_ = is_advanced;
  }

  SelectionParts parts_;
  std::size_t elided_;
  bool has_advanced_;
  std::size_t axis_ = 0;
  std::vector<std::size_t> kept_;
  std::vector<AdvancedIndex> advanced_;
  std::size_t replaced_ = 0;
  std::size_t position_ = 0;
  int runs_of_advanced_ = 0;
  bool after_advanced_ = false;
};

}  // namespace

Selection Selection::index(std::span<const Index> indices, Windows windows) const {
  const Counts counts = checked_counts(indices, ndim());
  if (counts.advanced) check_masks(indices, axes_, ndim() - counts.consumed);
  const bool recognise = counts.advanced && windows == Windows::recognise;
  if (const std::int64_t extent = recognise ? window_extent(*this, indices) : 0; extent > 0) {
    // The first axis as (start, place in the window): both step alike, and only starts need a table.
    SelectionParts sliding{inputs_, axes_, {}};
    sliding.axes.insert(sliding.axes.begin() + 1, {extent, axes_[0].step, axes_[0].input});
    sliding.axes[0].extent -= extent - 1;
    IndexArray starts = std::get<IndexArray>(indices[0]);
    starts.shape.pop_back();
    starts.strides_bytes.pop_back();
    std::vector<Index> of_starts;
    of_starts.reserve(indices.size() + 1);
    of_starts.emplace_back(std::move(starts));
    of_starts.emplace_back(Slice{});
    of_starts.insert(of_starts.end(), indices.begin() + 1, indices.end());
    return Selection(most_size_, std::move(sliding)).index(of_starts);
  }
  BasicPass pass({inputs_, axes_, tables_}, counts);
  for (const Index& index : indices) pass.apply(index);
  SelectionParts view = pass.finish();
  if (!counts.advanced) return Selection(most_size_, std::move(view));
  return Selection(most_size_, gather(view, pass.advanced(), pass.position(), most_size_));
}

}  // namespace lowtide
