#include "lowtide/array/index_advanced.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "lowtide/array/index_scan.h"
#include "lowtide/memory/block.h"
#include "lowtide/memory/budget.h"
#include "lowtide/memory/spare_blocks.h"

namespace lowtide {
namespace {

constexpr std::uint64_t small_table_bytes = 128 * 1024;

Block allocate_offsets(std::int64_t count) {
  // Above 2^59 offsets the byte count overflows; that many can be refused as that many.
  const std::uint64_t bytes = 8 * static_cast<std::uint64_t>(std::min(count, std::int64_t{1} << 59));
  Lease lease =
      Budget::process().take(round_up(bytes, page_bytes), Purpose::index, fmt::format("index of {} elements", count));
  if (lease.bytes() > small_table_bytes) return Block::allocate(std::move(lease));
  Block block = SpareBlocks::process().take_exactly(std::move(lease));
  std::memset(block.data(), 0, block.size_bytes());
  return block;
}

// A loop over batches makes a small table for each: its pages are kept for the next.
std::shared_ptr<const Block> share_offsets(Block block) {
  if (block.size_bytes() > small_table_bytes) return std::make_shared<const Block>(std::move(block));
  return std::shared_ptr<Block>(new Block(std::move(block)), [](Block* pointer) {
    const std::unique_ptr<Block> dropped(pointer);
    SpareBlocks::process().give(std::move(*dropped));
  });
}

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

// As NumPy, which counts an empty axis as one element here.
void check_size(const std::vector<Axis>& axes, std::size_t itemsize) {
  auto bytes = static_cast<std::int64_t>(itemsize);
  for (const Axis& axis : axes) {
    if (axis.extent > 1 && __builtin_mul_overflow(bytes, axis.extent, &bytes)) {
      throw std::invalid_argument(
          "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size.");
    }
  }
}

// A dense table under construction; contributions add up. Without axes it is a constant.
class TableUnderConstruction {
 public:
  TableUnderConstruction(std::vector<std::size_t> axes, const std::vector<Axis>& output) : axes_(std::move(axes)) {
    std::int64_t count = 1;
    for (const std::size_t axis : axes_) count *= output[axis].extent;
    if (axes_.empty()) return;
    block_ = allocate_offsets(count);
    strides_.resize(axes_.size());
    for (std::size_t i = axes_.size(); i > 0; --i) {
      count = i == axes_.size() ? 1 : count * output[axes_[i]].extent;
      strides_[i - 1] = count;
    }
  }

  const std::vector<std::size_t>& axes() const { return axes_; }
  std::int64_t* data() { return axes_.empty() ? &constant_ : reinterpret_cast<std::int64_t*>(block_.data()); }
  // True for the one contribution that may assign.
  bool first() { return std::exchange(first_, false); }

  void finish(SelectionParts& parts) {
    if (axes_.empty()) {
      parts.base += constant_;
      return;
    }
    auto owner = share_offsets(std::move(block_));
    const auto* offsets = reinterpret_cast<const std::int64_t*>(owner->data());
    parts.tables.push_back({std::move(axes_), std::move(strides_), offsets, std::move(owner)});
  }

 private:
  std::vector<std::size_t> axes_;
  std::vector<std::int64_t> strides_;
  Block block_;
  std::int64_t constant_ = 0;
  bool first_ = true;
};

// The index that replaces one axis of the view, addressable by the position on the broadcast axes.
struct AxisIndex {
  const std::byte* data = nullptr;
  std::vector<std::int64_t> strides_bytes;  // one for each broadcast axis, 0 where it does not vary
};

class Gather {
 public:
  Gather(const SelectionParts& view, std::span<const AdvancedIndex> advanced, std::size_t position,
         std::size_t itemsize)
      : view_(view), advanced_(advanced), position_(position), broadcast_(broadcast_shape(advanced)) {
    place_axes();
    check_size(result_.axes, itemsize);
  }

  SelectionParts run() {
    result_.base = view_.base;
    // NumPy looks at no index when the indices broadcast to nothing.
    if (any_empty(broadcast_)) return std::move(result_);
    const bool empty =
        std::any_of(result_.axes.begin(), result_.axes.end(), [](const Axis& axis) { return axis.extent == 0; });
    for (const AdvancedIndex& index : advanced_) {
      if (index.array) add_array(index, empty);
      if (index.mask && !empty) add_mask(index);
    }
    if (empty) return std::move(result_);
    for (const OffsetTable& table : view_.tables) add_table(table);
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
    for (const std::int64_t extent : broadcast_) added.push_back({extent, 0});
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

  TableUnderConstruction& table_over(const std::vector<std::size_t>& axes) {
    for (TableUnderConstruction& table : building_) {
      if (table.axes() == axes) return table;
    }
    return building_.emplace_back(axes, result_.axes);
  }

  void add_array(const AdvancedIndex& index, bool check_only) {
    const Axis axis = view_.axes[index.view_axis];
    if (check_only || axis.stride_bytes == 0) {
      scan_indices(*index.array, axis.extent, index.axis, [](std::int64_t, std::int64_t) {});
      return;
    }
    TableUnderConstruction& table = table_over(varying_axes(index.shape));
    std::int64_t* out = table.data();
    // Unsigned: an index out of bounds is multiplied before it is refused.
    const auto stride = static_cast<std::uint64_t>(axis.stride_bytes);
    const auto offset = [stride](std::int64_t i) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(i) * stride);
    };
    if (table.first()) {
      scan_indices(*index.array, axis.extent, index.axis, [&](std::int64_t k, std::int64_t i) { out[k] = offset(i); });
    } else {
      scan_indices(*index.array, axis.extent, index.axis, [&](std::int64_t k, std::int64_t i) {
        out[k] = static_cast<std::int64_t>(static_cast<std::uint64_t>(out[k]) + static_cast<std::uint64_t>(offset(i)));
      });
    }
  }

  void add_mask(const AdvancedIndex& index) {
    if (index.axis_count == 0) return;
    const std::span strides = std::span(view_.axes).subspan(index.view_axis, index.axis_count);
    if (std::all_of(strides.begin(), strides.end(), [](const Axis& axis) { return axis.stride_bytes == 0; })) return;
    const auto offset = [strides](std::span<const std::int64_t> outer, std::int64_t i) {
      std::int64_t sum = i * strides.back().stride_bytes;
      for (std::size_t j = 0; j < outer.size(); ++j) sum += outer[j] * strides[j].stride_bytes;
      return sum;
    };
    TableUnderConstruction& table = table_over(varying_axes(index.shape));
    std::int64_t* out = table.data();
    if (table.first()) {
      scan_trues(*index.mask, index.shape[0],
                 [&](std::int64_t k, auto outer, std::int64_t i) { out[k] = offset(outer, i); });
      return;
    }
    // scan_trues assigns more than once, so a sum needs what was there before.
    std::int64_t known = -1, before = 0;
    scan_trues(*index.mask, index.shape[0], [&](std::int64_t k, auto outer, std::int64_t i) {
      if (k != known) before = out[known = k];
      out[k] = before + offset(outer, i);
    });
  }

  // A table of the view: renumbered, or gathered anew if it depends on a replaced axis.
  void add_table(const OffsetTable& table) {
    OffsetTable moved = table;
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
    TableUnderConstruction& target = table_over(axes);
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
    Block block = allocate_offsets(count * static_cast<std::int64_t>(index.axis_count));
    auto* out = reinterpret_cast<std::int64_t*>(block.data());
    scan_trues(*index.mask, count, [&](std::int64_t k, std::span<const std::int64_t> outer, std::int64_t i) {
      for (const std::int64_t coordinate : outer) {
        out[k] = coordinate;
        k += count;
      }
      out[k] = i;
    });
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

  void add_regathered(const OffsetTable& table, TableUnderConstruction& target);

  const SelectionParts& view_;
  std::span<const AdvancedIndex> advanced_;
  std::size_t position_;
  Shape broadcast_;
  SelectionParts result_;
  std::vector<std::size_t> output_of_;  // by view axis; `replaced` where an advanced index stands
  std::vector<TableUnderConstruction> building_;
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

void Gather::add_regathered(const OffsetTable& table, TableUnderConstruction& target) {
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
  std::int64_t* out = target.data();
  for_each_row(nullptr, extents, std::vector<std::int64_t>(axes.size(), 0),
               [&](const std::byte*, std::span<const std::int64_t> outer) {
                 const std::int64_t* row = table.data + along(outer, steps);
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
               });
}

}  // namespace

SelectionParts gather(const SelectionParts& view, std::span<const AdvancedIndex> advanced, std::size_t position,
                      std::size_t itemsize) {
  return Gather(view, advanced, position, itemsize).run();
}

}  // namespace lowtide
