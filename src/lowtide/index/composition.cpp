// One selection after another, and broadcasting: both are closed on the form that selection.h states.
#include <algorithm>
#include <cassert>
#include <stdexcept>

#include "lowtide/base/interrupt.h"
#include "lowtide/index/entries.h"
#include "lowtide/index/selection_parts.h"

namespace lowtide {
namespace {

// What tables say, as numbers for every index on some axes, in C order.
class DenseTable {
 public:
  DenseTable(std::vector<std::size_t> axes, const std::vector<Axis>& all) : axes_(std::move(axes)) {
    for (const std::size_t axis : axes_) extents_.push_back(all[axis].extent);
    for (const std::int64_t extent : extents_) count_ *= extent;
  }

  // value(index): `index` has one number for each of the axes.
  template <class Value>
  Table filled(std::size_t input, std::int64_t input_extent, const Value& value) const {
    // What is added to a start may be negative and as long as the axis, so that the sum lies within it.
    const bool narrow = Entries::narrow_for(input_extent);
    Block block = allocate_entries(count_, narrow ? 4 : 8);
    std::vector<std::int64_t> index(axes_.size(), 0);
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t entry = value(index);
      if (narrow) {
        reinterpret_cast<std::int32_t*>(block.data())[i] = static_cast<std::int32_t>(entry);
      } else {
        reinterpret_cast<std::int64_t*>(block.data())[i] = entry;
      }
      for (std::size_t j = axes_.size(); j-- > 0;) {
        if (++index[j] < extents_[j]) break;
        index[j] = 0;
      }
      if ((i & 0xFFFF) == 0) interrupt_point();
    }
    Table table{input, axes_, std::vector<std::int64_t>(axes_.size(), 1), {}, share_entries(std::move(block))};
    for (std::size_t j = axes_.size(); j-- > 1;) table.strides[j - 1] = table.strides[j] * extents_[j];
    table.entries = {table.owner->data(), narrow};
    return table;
  }

 private:
  std::vector<std::size_t> axes_;
  std::vector<std::int64_t> extents_;
  std::int64_t count_ = 1;
};

void insert(std::vector<std::size_t>& axes, std::size_t axis) {
  const auto at = std::lower_bound(axes.begin(), axes.end(), axis);
  if (at == axes.end() || *at != axis) axes.insert(at, axis);
}

// The index on one axis of what the outer selection selects from, as a function of the outer's own axes.
struct AxisIndex {
  std::int64_t start = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> steps;  // outer axis, step
  std::vector<const Table*> tables;

  AxisIndex(const Selection& outer, std::size_t input) : start(outer.inputs()[input].start) {
    for (std::size_t j = 0; j < outer.ndim(); ++j) {
      const Axis& axis = outer.axes()[j];
      if (axis.step != 0 && axis.input == input) steps.emplace_back(j, axis.step);
    }
    for (const Table& table : outer.tables()) {
      if (table.input == input) tables.push_back(&table);
    }
  }

  void add_axes_to(std::vector<std::size_t>& axes) const {
    for (const auto& [axis, step] : steps) insert(axes, axis);
    for (const Table* table : tables) {
      for (const std::size_t axis : table->axes) insert(axes, axis);
    }
  }

  // `index` has one number for each of `axes`, which holds all that add_axes_to() gave.
  std::int64_t at(const std::vector<std::size_t>& axes, const std::vector<std::int64_t>& index) const {
    const auto on = [&](std::size_t axis) {
      return index[static_cast<std::size_t>(std::lower_bound(axes.begin(), axes.end(), axis) - axes.begin())];
    };
    std::int64_t sum = start;
    for (const auto& [axis, step] : steps) sum += on(axis) * step;
    for (const Table* table : tables) {
      std::int64_t entry = 0;
      for (std::size_t i = 0; i < table->axes.size(); ++i) entry += on(table->axes[i]) * table->strides[i];
      sum += table->entries[entry];
    }
    return sum;
  }
};

}  // namespace

Selection Selection::broadcast(const Shape& shape) const {
  const auto refuse = [] { throw std::invalid_argument("operands could not be broadcast together"); };
  if (shape.size() < ndim() || shape.size() > max_ndim) refuse();
  const std::size_t added = shape.size() - ndim();
  SelectionParts parts{inputs_, {}, tables_};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    Axis axis = i < added ? Axis{shape[i], 0, 0} : axes_[i - added];
    if (axis.extent != shape[i]) {
      if (axis.extent != 1) refuse();
      axis = {shape[i], 0, 0};
    }
    parts.axes.push_back(axis);
  }
  for (Table& table : parts.tables) {
    for (std::size_t& axis : table.axes) axis += added;
  }
  check_size(parts.axes, most_size_);
  simplify(parts);
  return Selection(most_size_, std::move(parts));
}

Selection Selection::of(const Selection& outer) const {
  assert(outer.inputs_.size() == ndim());
  SelectionParts parts{inputs_, outer.axes_, {}};
  for (Axis& axis : parts.axes) {
    if (axis.step == 0) continue;
    const Axis& inner = axes_[axis.input];
    axis.step = axis.extent > 1 ? axis.step * inner.step : inner.step;
    axis.input = inner.input;
  }
  for (std::size_t k = 0; k < ndim(); ++k) {
    if (axes_[k].step != 0) parts.inputs[axes_[k].input].start += outer.inputs_[k].start * axes_[k].step;
  }
  check_size(parts.axes, most_size_);
  if (outer.size() == 0) return Selection(most_size_, std::move(parts));

  for (const Table& table : outer.tables_) {
    const Axis& inner = axes_[table.input];
    if (inner.step == 0) continue;
    Table moved = table;
    moved.input = inner.input;
    if (inner.step != 1) {
      AxisIndex only(outer, table.input);
      only.start = 0;
      only.steps.clear();
      only.tables = {&table};
      moved =
          DenseTable(table.axes, outer.axes_).filled(inner.input, inputs_[inner.input].extent, [&](const auto& index) {
            return only.at(table.axes, index) * inner.step;
          });
    }
    parts.tables.push_back(std::move(moved));
  }
  for (const Table& table : tables_) {
    std::vector<AxisIndex> on;  // each axis that the table depends on
    for (const std::size_t axis : table.axes) on.emplace_back(outer, axis);
    const bool affine = std::ranges::all_of(on, [](const AxisIndex& index) { return index.tables.empty(); });
    Table moved{table.input, {}, {}, table.entries, table.owner};
    if (affine) {
      for (std::size_t i = 0; i < on.size(); ++i) {
        moved.entries.skip(on[i].start * table.strides[i]);
        for (const auto& [axis, step] : on[i].steps) {
          moved.axes.push_back(axis);
          moved.strides.push_back(step * table.strides[i]);
        }
      }
    } else {
      std::vector<std::size_t> axes;
      for (const AxisIndex& index : on) index.add_axes_to(axes);
      moved = DenseTable(axes, outer.axes_)
                  .filled(table.input, inputs_[table.input].extent, [&](const std::vector<std::int64_t>& index) {
                    std::int64_t entry = 0;
                    for (std::size_t i = 0; i < on.size(); ++i) entry += on[i].at(axes, index) * table.strides[i];
                    return table.entries[entry];
                  });
    }
    parts.tables.push_back(std::move(moved));
  }
  simplify(parts);
  return Selection(most_size_, std::move(parts));
}

Selection Selection::within(const Shape& space, std::span<const std::size_t> inputs) const {
  SelectionParts parts{{}, axes_, tables_};
  std::vector<bool> chosen(space.size(), false);
  for (const std::int64_t extent : space) parts.inputs.push_back({extent, 0});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    parts.inputs[inputs[i]].start = inputs_[i].start;
    chosen[inputs[i]] = true;
  }
  for (Axis& axis : parts.axes) {
    if (axis.step != 0) axis.input = inputs[axis.input];
  }
  for (Table& table : parts.tables) table.input = inputs[table.input];
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (!chosen[i]) parts.axes.push_back({space[i], 1, i});
  }
  check_size(parts.axes, most_size_);
  simplify(parts);
  return Selection(most_size_, std::move(parts));
}

Selection Selection::with(std::vector<Input> inputs, std::vector<Axis> axes) const {
  check_size(axes, most_size_);
  return Selection(most_size_, SelectionParts{std::move(inputs), std::move(axes), tables_});
}

bool Selection::operator==(const Selection& other) const {
  const auto same_axis = [](const Axis& a, const Axis& b) {
    return a.extent == b.extent && a.step == b.step && (a.step == 0 || a.input == b.input);
  };
  const auto same_input = [](const Input& a, const Input& b) { return a.extent == b.extent && a.start == b.start; };
  const auto same_table = [](const Table& a, const Table& b) {
    return a.input == b.input && a.axes == b.axes && a.strides == b.strides && a.entries.first == b.entries.first &&
           a.entries.narrow == b.entries.narrow;
  };
  return std::ranges::equal(axes_, other.axes_, same_axis) && std::ranges::equal(inputs_, other.inputs_, same_input) &&
         std::ranges::equal(tables_, other.tables_, same_table);
}

bool Selection::depends_on(std::size_t axis) const {
  if (axes_[axis].step != 0) return true;
  return std::ranges::any_of(tables_, [&](const Table& table) { return std::ranges::count(table.axes, axis) > 0; });
}

}  // namespace lowtide
