#include "lowtide/index/index_advanced.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <stdexcept>
#include <utility>

#include "lowtide/index/entries.h"
#include "lowtide/index/index_scan.h"

namespace lowtide {
namespace {

std::string shape_text(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ","), shape.size() == 1 ? "," : "");
}

[[noreturn]] void throw_shape_mismatch(std::span<const AdvancedIndex> advanced) {
  std::string message = "shape mismatch: indexing arrays could not be broadcast together with shapes ";
  for (const AdvancedIndex& index : advanced) {
    // NumPy names a mask once for each axis that it consumes.
    for (std::size_t i = 0; i < std::max<std::size_t>(index.axis_count, 1); ++i)
      message += shape_text(index.shape) + " ";
  }
  throw std::out_of_range(message);
}

Shape broadcast_shape(std::span<const AdvancedIndex> advanced) {
  std::size_t ndim = 0;
  for (const AdvancedIndex& index : advanced) ndim = std::max(ndim, index.shape.size());
  Shape shape(ndim, 1);
  for (const AdvancedIndex& index : advanced) {
    const std::size_t lead = ndim - index.shape.size();
    for (std::size_t i = 0; i < index.shape.size(); ++i) {
      std::int64_t& extent = shape[lead + i];
      if (extent == 1) extent = index.shape[i];
      if (extent != index.shape[i] && index.shape[i] != 1) throw_shape_mismatch(advanced);
    }
  }
  return shape;
}

bool any_empty(const Shape& shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

// A dense table under construction; contributions add up. Without axes it is a constant.
class TableUnderConstruction {
 public:
  TableUnderConstruction(std::size_t input, bool narrow, std::vector<std::size_t> axes, const std::vector<Axis>& output)
      : input_(input), axes_(std::move(axes)), entries_{nullptr, narrow} {
    std::int64_t count = 1;
    for (const std::size_t axis : axes_) count *= output[axis].extent;
    if (axes_.empty()) return;
    block_ = allocate_entries(count, entries_.bytes_each());
    strides_.resize(axes_.size());
    for (std::size_t i = axes_.size(); i > 0; --i) {
      count = i == axes_.size() ? 1 : count * output[axes_[i]].extent;
      strides_[i - 1] = count;
    }
  }

  std::size_t input() const { return input_; }
  const std::vector<std::size_t>& axes() const { return axes_; }
  // Calls visit with a pointer to std::int32_t or std::int64_t.
  template <class Visit>
  void typed(Visit visit) {
    std::byte* data = axes_.empty() ? constant_ : block_.data();
    if (entries_.narrow) {
      visit(reinterpret_cast<std::int32_t*>(data));
    } else {
      visit(reinterpret_cast<std::int64_t*>(data));
    }
  }
  Entries entries() const { return {axes_.empty() ? constant_ : block_.data(), entries_.narrow}; }
  // True for the one contribution that may assign.
  bool first() { return std::exchange(first_, false); }

  void finish(SelectionParts& parts) {
    if (axes_.empty()) {
      parts.inputs[input_].start += entries()[0];
      return;
    }
    auto owner = share_entries(std::move(block_));
    entries_.first = owner->data();
    parts.tables.push_back({input_, std::move(axes_), std::move(strides_), entries_, std::move(owner)});
  }

 private:
  std::size_t input_;
  std::vector<std::size_t> axes_;
  std::vector<std::int64_t> strides_;
  Block block_;
  Entries entries_;
  alignas(std::int64_t) std::byte constant_[sizeof(std::int64_t)] = {};
  bool first_ = true;
};

// One of the arrays that nonzero() of a mask gives, times a step; none where `out` is null.
struct Column {
  Entries out;
  std::int64_t step = 0;

  // Calls visit with a pointer to what is to be filled.
  template <class Visit>
  void typed(Visit visit) const {
    out.typed([&](const auto* entries) {
      visit(const_cast<std::remove_const_t<std::remove_pointer_t<decltype(entries)>>*>(entries));
    });
  }
};

void fill_columns(const Mask& mask, std::int64_t true_count, std::span<const Column> columns) {
  if (std::none_of(columns.begin(), columns.end(), [](const Column& column) { return column.out.first != nullptr; }))
    return;
  const Column last = columns.back();
  const auto outer_columns = columns.first(columns.size() - 1);
  const auto fill_outer = [&](std::int64_t begin, std::int64_t end, std::span<const std::int64_t> outer) {
    for (std::size_t j = 0; j < outer.size(); ++j) {
      const Column& column = outer_columns[j];
      if (column.out.first == nullptr) continue;
      column.typed([&]<class Entry>(Entry* out) {
        std::fill(out + begin, out + end, static_cast<Entry>(outer[j] * column.step));
      });
    }
  };
  if (last.out.first == nullptr) {
    scan_trues(mask, true_count, [](std::int64_t, std::int64_t) {}, fill_outer);
  } else {
    last.typed([&]<class Entry>(Entry* out) {
      const std::int64_t step = last.step;
      scan_trues(
          mask, true_count, [out, step](std::int64_t k, std::int64_t i) { out[k] = static_cast<Entry>(i * step); },
          fill_outer);
    });
  }
}

// The index that replaces one axis of the view, addressable by the position on the broadcast axes.
struct AxisIndex {
  const std::byte* data = nullptr;
  std::vector<std::int64_t> strides_bytes;  // one for each broadcast axis, 0 where it does not vary
};

class Gather {
 public:
  Gather(const SelectionParts& view, std::span<const AdvancedIndex> advanced, std::size_t position,
         std::int64_t most_size)
      : view_(view), advanced_(advanced), position_(position), broadcast_(broadcast_shape(advanced)) {
    place_axes();
    check_size(result_.axes, most_size);
  }

  SelectionParts run() {
    result_.inputs = view_.inputs;
    // NumPy looks at no index when the indices broadcast to nothing.
    if (any_empty(broadcast_)) return std::move(result_);
    const bool empty =
        std::any_of(result_.axes.begin(), result_.axes.end(), [](const Axis& axis) { return axis.extent == 0; });
    for (const AdvancedIndex& index : advanced_) {
      if (index.array) add_array(index, empty);
      if (index.mask && !empty) add_mask(index);
    }
    if (empty) return std::move(result_);
    for (const Table& table : view_.tables) add_table(table);
    for (TableUnderConstruction& table : building_) table.finish(result_);
    return std::move(result_);
  }

 private:
  static constexpr std::size_t replaced = max_ndim + 1;

  void place_axes() {
    output_of_.assign(view_.axes.size(), 0);
    for (const AdvancedIndex& index : advanced_) {
      for (std::size_t i = 0; i < index.axis_count; ++i) output_of_[index.view_axis + i] = replaced;
    }
    for (std::size_t axis = 0; axis < view_.axes.size(); ++axis) {
      if (output_of_[axis] == replaced) continue;
      const std::size_t kept = result_.axes.size();
      output_of_[axis] = kept < position_ ? kept : kept + broadcast_.size();
      result_.axes.push_back(view_.axes[axis]);
    }
    std::vector<Axis> added;
    for (const std::int64_t extent : broadcast_) added.push_back({extent});
    result_.axes.insert(result_.axes.begin() + static_cast<std::ptrdiff_t>(position_), added.begin(), added.end());
  }

  // The output axes along which an index of this shape varies.
  std::vector<std::size_t> varying_axes(const Shape& shape) const {
    std::vector<std::size_t> axes;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] > 1) axes.push_back(position_ + broadcast_.size() - shape.size() + i);
    }
    return axes;
  }

  TableUnderConstruction& table_over(std::size_t input, const std::vector<std::size_t>& axes) {
    for (TableUnderConstruction& table : building_) {
      if (table.input() == input && table.axes() == axes) return table;
    }
    return building_.emplace_back(input, Entries::narrow_for(view_.inputs[input].extent), axes, result_.axes);
  }

  void add_array(const AdvancedIndex& index, bool check_only) {
    const Axis axis = view_.axes[index.view_axis];
    if (check_only || axis.step == 0) {
      scan_indices(*index.array, axis.extent, index.axis, [](std::int64_t, std::int64_t) {});
      return;
    }
    TableUnderConstruction& table = table_over(axis.input, varying_axes(index.shape));
    const bool first = table.first();
    table.typed([&]<class Entry>(Entry* out) {
      // Unsigned: an index out of bounds is multiplied before it is refused.
      const auto step = static_cast<std::uint64_t>(axis.step);
      const auto entry = [step](std::int64_t i) { return static_cast<std::uint64_t>(i) * step; };
      if (first) {
        scan_indices(*index.array, axis.extent, index.axis,
                     [&](std::int64_t k, std::int64_t i) { out[k] = static_cast<Entry>(entry(i)); });
      } else {
        scan_indices(*index.array, axis.extent, index.axis, [&](std::int64_t k, std::int64_t i) {
          out[k] = static_cast<Entry>(static_cast<std::uint64_t>(out[k]) + entry(i));
        });
      }
    });
  }

  // One table for each axis that the mask replaces, all in one pass over the mask.
  void add_mask(const AdvancedIndex& index) {
    std::vector<Column> columns(index.axis_count);
    std::vector<std::size_t> shared;  // axes that add to a table which somebody has begun
    for (std::size_t i = 0; i < index.axis_count; ++i) {
      const Axis axis = view_.axes[index.view_axis + i];
      if (axis.step == 0) continue;
      TableUnderConstruction& table = table_over(axis.input, varying_axes(index.shape));
      if (table.first()) {
        columns[i] = {table.entries(), axis.step};
      } else {
        shared.push_back(i);
      }
    }
    fill_columns(*index.mask, index.shape[0], columns);
    for (const std::size_t i : shared) {
      const Axis axis = view_.axes[index.view_axis + i];
      const std::int64_t* coordinates = nonzero(index) + static_cast<std::int64_t>(i) * index.shape[0];
      table_over(axis.input, varying_axes(index.shape)).typed([&]<class Entry>(Entry* out) {
        for (std::int64_t k = 0; k < index.shape[0]; ++k) out[k] += static_cast<Entry>(coordinates[k] * axis.step);
      });
    }
  }

  // A table of the view: renumbered, or gathered anew if it depends on a replaced axis.
  void add_table(const Table& table) {
    Table moved = table;
    std::vector<std::size_t> axes;
    bool affected = false;
    for (std::size_t& axis : moved.axes) {
      if (output_of_[axis] == replaced) {
        affected = true;
        for (const std::size_t varying : varying_axes(index_at(axis).shape)) axes.push_back(varying);
      } else {
        axes.push_back(output_of_[axis]);
      }
      axis = output_of_[axis];
    }
    if (!affected) {
      result_.tables.push_back(std::move(moved));
      return;
    }
    std::sort(axes.begin(), axes.end());
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    TableUnderConstruction& target = table_over(table.input, axes);
    target.first();
    add_regathered(table, target);
  }

  const AdvancedIndex& index_at(std::size_t view_axis) const {
    return *std::find_if(advanced_.begin(), advanced_.end(), [view_axis](const AdvancedIndex& index) {
      return index.view_axis <= view_axis && view_axis < index.view_axis + index.axis_count;
    });
  }

  // nonzero() of a mask, one array after another, in leased memory that lives as long as the gather.
  const std::int64_t* nonzero(const AdvancedIndex& index) {
    for (const auto& [owner, block] : nonzero_) {
      if (owner == &index) return reinterpret_cast<const std::int64_t*>(block.data());
    }
    const std::int64_t count = index.shape[0];
    Block block = allocate_entries(count * static_cast<std::int64_t>(index.axis_count), sizeof(std::int64_t));
    auto* out = reinterpret_cast<std::int64_t*>(block.data());
    std::vector<Column> columns;
    for (std::size_t i = 0; i < index.axis_count; ++i) {
      const auto* column = out + static_cast<std::int64_t>(i) * count;
      columns.push_back({{reinterpret_cast<const std::byte*>(column), false}, 1});
    }
    fill_columns(*index.mask, count, columns);
    nonzero_.emplace_back(&index, std::move(block));
    return out;
  }

  AxisIndex axis_index(std::size_t view_axis) {
    const AdvancedIndex& index = index_at(view_axis);
    AxisIndex result;
    result.strides_bytes.assign(broadcast_.size(), 0);
    if (index.mask) {
      const std::int64_t* first =
          nonzero(index) + static_cast<std::int64_t>(view_axis - index.view_axis) * index.shape[0];
      result.data = reinterpret_cast<const std::byte*>(first);
      result.strides_bytes.back() = index.shape[0] > 1 ? 8 : 0;
      return result;
    }
    result.data = reinterpret_cast<const std::byte*>(index.array->data);
    const std::size_t lead = broadcast_.size() - index.shape.size();
    for (std::size_t i = 0; i < index.shape.size(); ++i) {
      result.strides_bytes[lead + i] = index.shape[i] > 1 ? index.array->strides_bytes[i] : 0;
    }
    return result;
  }

  void add_regathered(const Table& table, TableUnderConstruction& target);

  const SelectionParts& view_;
  std::span<const AdvancedIndex> advanced_;
  std::size_t position_;
  Shape broadcast_;
  SelectionParts result_;
  std::vector<std::size_t> output_of_;  // by view axis; `replaced` where an advanced index stands
  std::deque<TableUnderConstruction> building_;
  std::vector<std::pair<const AdvancedIndex*, Block>> nonzero_;
};

// One replaced axis of a table, as seen from the axes of the table that is being built.
struct Term {
  const std::byte* data;
  std::vector<std::int64_t> strides_bytes;
  std::int64_t extent;
  std::int64_t scale;  // entries of the old table per step of the index
  const std::byte* row = nullptr;

  std::int64_t at(std::int64_t i, std::int64_t stride) const {
    return wrapped(load_index(row + i * stride), extent) * scale;
  }
};

std::int64_t along(std::span<const std::int64_t> outer, const std::vector<std::int64_t>& strides) {
  std::int64_t sum = 0;
  for (std::size_t j = 0; j < outer.size(); ++j) sum += outer[j] * strides[j];
  return sum;
}

void Gather::add_regathered(const Table& table, TableUnderConstruction& target) {
  const std::vector<std::size_t>& axes = target.axes();
  std::vector<Term> terms;
  std::vector<std::int64_t> steps(axes.size(), 0);
  for (std::size_t i = 0; i < table.axes.size(); ++i) {
    const std::size_t view_axis = table.axes[i];
    if (output_of_[view_axis] != replaced) {
      steps[static_cast<std::size_t>(std::find(axes.begin(), axes.end(), output_of_[view_axis]) - axes.begin())] =
          table.strides[i];
      continue;
    }
    const AxisIndex index = axis_index(view_axis);
    Term term{index.data, std::vector<std::int64_t>(axes.size(), 0), view_.axes[view_axis].extent, table.strides[i]};
    for (std::size_t j = 0; j < axes.size(); ++j) {
      const std::size_t b = axes[j] - position_;  // wraps, and is out of range, for an axis before the broadcast ones
      if (b < broadcast_.size()) term.strides_bytes[j] = index.strides_bytes[b];
    }
    terms.push_back(std::move(term));
  }
  Shape extents;
  for (const std::size_t axis : axes) extents.push_back(result_.axes[axis].extent);
  Pace pace;
  target.typed([&]<class Entry>(Entry* out) {
    const auto* data = reinterpret_cast<const Entry*>(table.entries.first);
    for_each_row(nullptr, extents, std::vector<std::int64_t>(axes.size(), 0),
                 [&](const std::byte*, std::span<const std::int64_t> outer) {
                   const Entry* row = data + along(outer, steps);
                   for (Term& term : terms) term.row = term.data + along(outer, term.strides_bytes);
                   const std::int64_t extent = axes.empty() ? 1 : extents.back();
                   const std::int64_t step = axes.empty() ? 0 : steps.back();
                   if (terms.size() == 1) {  // a gather of a gather
                     const Term& term = terms[0];
                     const std::int64_t stride = axes.empty() ? 0 : term.strides_bytes.back();
                     for (std::int64_t i = 0; i < extent; ++i) out[i] += row[i * step + term.at(i, stride)];
                   } else {
                     for (std::int64_t i = 0; i < extent; ++i) {
                       std::int64_t entry = i * step;
                       for (const Term& term : terms) entry += term.at(i, axes.empty() ? 0 : term.strides_bytes.back());
                       out[i] += row[entry];
                     }
                   }
                   out += extent;
                   pace.did(extent);
                 });
  });
}

}  // namespace

SelectionParts gather(const SelectionParts& view, std::span<const AdvancedIndex> advanced, std::size_t position,
                      std::int64_t most_size) {
  return Gather(view, advanced, position, most_size).run();
}

}  // namespace lowtide
