#include "lowtide/transfer/walk.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <utility>

#include "lowtide/index/index_scan.h"

namespace lowtide {
namespace {

// An axis while its place is being found. An axis that tables depend on has one entry stride for each table.
struct Level {
  WalkAxis axis;
  std::vector<std::int64_t> entry_strides;
  std::int64_t reach = 0;  // bytes: its file stride, or how far apart the offsets of a table on it lie

  bool affine() const { return entry_strides.empty(); }
};

bool slower(const Level& a, const Level& b) {
  if (a.reach != b.reach) return a.reach > b.reach;
  for (std::size_t t = 0; t < std::min(a.entry_strides.size(), b.entry_strides.size()); ++t) {
    const std::int64_t difference = std::abs(a.entry_strides[t]) - std::abs(b.entry_strides[t]);
    if (difference != 0) return difference > 0;
  }
  return std::abs(a.axis.memory_stride) > std::abs(b.axis.memory_stride);
}

bool mergeable(const Level& outer, const Level& inner) {
  if (outer.affine() != inner.affine()) return false;
  const std::int64_t extent = inner.axis.extent;
  for (std::size_t t = 0; t < outer.entry_strides.size(); ++t) {
    if (outer.entry_strides[t] != inner.entry_strides[t] * extent) return false;
  }
  return outer.axis.file_stride == inner.axis.file_stride * extent &&
         outer.axis.memory_stride == inner.axis.memory_stride * extent;
}

void merge_neighbours(std::vector<Level>& levels) {
  std::vector<Level> merged;
  for (Level& level : levels) {
    if (!merged.empty() && mergeable(merged.back(), level)) {
      level.axis.extent *= merged.back().axis.extent;
      merged.back() = std::move(level);
    } else {
      merged.push_back(std::move(level));
    }
  }
  levels = std::move(merged);
}

// Largest less smallest offset, in bytes. Reads the whole table.
std::int64_t spread(const OffsetTable& table, const std::vector<ByteAxis>& axes) {
  Shape shape;
  std::vector<std::int64_t> strides_bytes;
  for (std::size_t i = 0; i < table.axes.size(); ++i) {
    shape.push_back(axes[table.axes[i]].extent);
    strides_bytes.push_back(table.strides[i] * table.entries.bytes_each());
  }
  collapse(shape, strides_bytes);
  std::int64_t least = table.entries[0], most = least;
  const std::int64_t step = strides_bytes.back() / table.entries.bytes_each();
  Pace pace;
  for_each_row(table.entries.first, shape, strides_bytes, [&](const std::byte* row, auto) {
    Entries{row, table.entries.narrow}.typed([&](const auto* entries) {
      for (std::int64_t i = 0; i < shape.back(); ++i) {
        const std::int64_t entry = entries[i * step];
        least = std::min(least, entry);
        most = std::max(most, entry);
      }
    });
    pace.did(shape.back());
  });
  return (most - least) * std::abs(table.scale_bytes);
}

class WalkBuilder {
 public:
  WalkBuilder(ByteMap map, std::span<const std::int64_t> memory_strides) : axes_(std::move(map.axes)) {
    walk_.base = map.base;
    walk_.itemsize = map.itemsize;
    walk_.run_span_bytes = walk_.itemsize;
    walk_.tables = std::move(map.tables);
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) add_axis(axis, memory_strides[axis]);
    std::sort(levels_.begin(), levels_.end(), slower);
    lift_repeats();
    merge_neighbours(levels_);
    while (!levels_.empty() && extends_densely(levels_.back())) take_into_run();
  }

  Walk finish() && {
    // With nothing left to order them against, tables need not be read.
    const bool order_matters = !table_levels_.empty() && (!levels_.empty() || table_levels_.size() > 1);
    if (order_matters) set_reach();
    levels_.insert(levels_.end(), std::make_move_iterator(table_levels_.begin()),
                   std::make_move_iterator(table_levels_.end()));
    if (order_matters) std::stable_sort(levels_.begin(), levels_.end(), slower);
    lift_repeats();
    merge_neighbours(levels_);
    while (!levels_.empty() && extends_with_gaps(levels_.back())) take_into_run();
    const bool is_split = split_last();
    std::reverse(walk_.run.begin(), walk_.run.end());
    number_outer();
    const std::int64_t full = walk_.run.empty() ? 1 : walk_.run[0].extent;
    if (!is_split) walk_.last_count = full;
    return std::move(walk_);
  }

 private:
  void add_axis(std::size_t axis, std::int64_t memory_stride) {
    const ByteAxis file = axes_[axis];
    if (file.extent == 1) return;
    Level level{{file.extent, file.stride_bytes, memory_stride}, {}, std::abs(file.stride_bytes)};
    for (std::size_t t = 0; t < walk_.tables.size(); ++t) {
      const OffsetTable& table = walk_.tables[t];
      const auto found = std::find(table.axes.begin(), table.axes.end(), axis);
      if (found == table.axes.end()) continue;
      level.entry_strides.resize(walk_.tables.size(), 0);
      level.entry_strides[t] = table.strides[static_cast<std::size_t>(found - table.axes.begin())];
    }
    if (!level.affine()) {
      table_levels_.push_back(std::move(level));
      return;
    }
    if (file.stride_bytes < 0) {
      walk_.base += file.stride_bytes * (file.extent - 1);
      walk_.memory_offset += memory_stride * (file.extent - 1);
      level.axis.file_stride = -file.stride_bytes;
      level.axis.memory_stride = -memory_stride;
    }
    levels_.push_back(std::move(level));
  }

  void set_reach() {
    for (std::size_t t = 0; t < walk_.tables.size(); ++t) {
      const std::int64_t table_spread = spread(walk_.tables[t], axes_);
      for (Level& level : table_levels_) {
        if (level.entry_strides[t] != 0) level.reach = std::max(level.reach, table_spread);
      }
    }
  }

  std::int64_t span() const { return static_cast<std::int64_t>(walk_.run_span_bytes); }

  bool extends_densely(const Level& level) const { return walk_.run_is_dense && level.axis.file_stride == span(); }

  bool gap_is_narrow(const Level& level) const {
    return level.affine() && level.axis.file_stride > 0 && level.axis.file_stride - span() <= widest_gap_bytes;
  }

  bool extends_with_gaps(const Level& level) const {
    return gap_is_narrow(level) && level.axis.file_stride * (level.axis.extent - 1) + span() <= longest_run_bytes;
  }

  void take_into_run() {
    const WalkAxis axis = levels_.back().axis;
    walk_.run_is_dense = walk_.run_is_dense && axis.file_stride == span();
    walk_.run_span_bytes += static_cast<std::uint64_t>(axis.file_stride * (axis.extent - 1));
    walk_.run.push_back(axis);
    levels_.pop_back();
  }

  // An axis with narrow gaps that is too long for one run becomes runs of equal length and a short one.
  bool split_last() {
    if (levels_.empty() || !gap_is_narrow(levels_.back()) || span() >= longest_run_bytes) return false;
    const WalkAxis axis = levels_.back().axis;
    const std::int64_t piece = (longest_run_bytes - span()) / axis.file_stride + 1;
    if (piece < 2) return false;
    levels_.back().axis.extent = piece;
    take_into_run();
    const std::int64_t pieces = (axis.extent + piece - 1) / piece;
    levels_.push_back({{pieces, axis.file_stride * piece, axis.memory_stride * piece}, {}, 0});
    walk_.last_count = axis.extent - (pieces - 1) * piece;
    return true;
  }

  // Axes that repeat the same bytes (file stride 0) can be no part of a run and must not keep others out of it.
  void lift_repeats() {
    std::stable_partition(levels_.begin(), levels_.end(),
                          [](const Level& level) { return level.affine() && level.axis.file_stride == 0; });
  }

  void number_outer() {
    walk_.run_count = 1;
    for (OffsetTable& table : walk_.tables) {
      table.axes.clear();
      table.strides.clear();
    }
    for (const Level& level : levels_) {
      for (std::size_t t = 0; t < level.entry_strides.size(); ++t) {
        if (level.entry_strides[t] == 0) continue;
        walk_.tables[t].axes.push_back(walk_.outer.size());
        walk_.tables[t].strides.push_back(level.entry_strides[t]);
      }
      walk_.outer.push_back(level.axis);
      walk_.run_count *= level.axis.extent;
    }
  }

  std::vector<ByteAxis> axes_;
  Walk walk_;
  std::vector<Level> levels_;  // slowest first; affine only until finish()
  std::vector<Level> table_levels_;
};

}  // namespace

std::uint64_t Walk::span_bytes(const Run& run_) const {
  if (run.empty()) return run_span_bytes;
  return run_span_bytes - static_cast<std::uint64_t>((run[0].extent - run_.count) * run[0].file_stride);
}

Walk make_walk(ByteMap map, std::span<const std::int64_t> memory_strides) {
  assert(memory_strides.size() == map.axes.size());
  if (map.size() == 0) {
    Walk empty;
    empty.base = map.base;
    empty.itemsize = map.itemsize;
    return empty;
  }
  return WalkBuilder(std::move(map), memory_strides).finish();
}

RunCursor::RunCursor(const Walk& walk)
    : walk_(&walk),
      index_(walk.outer.empty() ? 0 : walk.outer.size() - 1, 0),
      file_(walk.base),
      memory_(walk.memory_offset),
      entry_(walk.tables.size(), 0),
      entry_steps_(walk.tables.size(), std::vector<std::int64_t>(walk.outer.size(), 0)),
      remaining_(walk.run_count) {
  if (!walk.outer.empty()) fastest_ = walk.outer.back();
  for (std::size_t t = 0; t < walk.tables.size(); ++t) {
    const OffsetTable& table = walk.tables[t];
    for (std::size_t i = 0; i < table.axes.size(); ++i) entry_steps_[t][table.axes[i]] = table.strides[i];
  }
}

std::size_t RunCursor::next(std::span<Run> runs) {
  std::size_t filled = 0;
  while (filled < runs.size() && remaining_ > 0) {
    const std::int64_t count = std::min(static_cast<std::int64_t>(runs.size() - filled), fastest_.extent - at_);
    const std::span<Run> part = runs.subspan(filled, static_cast<std::size_t>(count));
    fill(part);
    at_ += count;
    remaining_ -= count;
    filled += part.size();
    if (at_ < fastest_.extent) continue;
    part.back().count = walk_->last_count;
    at_ = 0;
    if (remaining_ > 0) step_outer();
  }
  return filled;
}

void RunCursor::fill(std::span<Run> runs) const {
  const std::int64_t count = walk_->run.empty() ? 1 : walk_->run[0].extent;
  std::int64_t file = file_ + at_ * fastest_.file_stride;
  std::int64_t memory = memory_ + at_ * fastest_.memory_stride;
  for (std::size_t t = 0; t < entry_.size(); ++t) {
    if (entry_steps_[t].back() == 0) file += walk_->tables[t].entries[entry_[t]] * walk_->tables[t].scale_bytes;
  }
  for (Run& run : runs) {
    run = {file, memory, count};
    file += fastest_.file_stride;
    memory += fastest_.memory_stride;
  }
  for (std::size_t t = 0; t < entry_.size(); ++t) {
    const std::int64_t step = entry_steps_[t].back();
    if (step == 0) continue;
    const std::int64_t scale = walk_->tables[t].scale_bytes;
    walk_->tables[t].entries.typed([&](const auto* entries) {
      const auto* entry = entries + entry_[t] + at_ * step;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        runs[i].file_offset += entry[static_cast<std::int64_t>(i) * step] * scale;
      }
    });
  }
}

void RunCursor::step_outer() {
  for (std::size_t axis = index_.size(); axis > 0; --axis) {
    const WalkAxis& outer = walk_->outer[axis - 1];
    const bool wraps = ++index_[axis - 1] == outer.extent;
    if (wraps) index_[axis - 1] = 0;
    const std::int64_t steps = wraps ? 1 - outer.extent : 1;
    file_ += steps * outer.file_stride;
    memory_ += steps * outer.memory_stride;
    for (std::size_t t = 0; t < entry_.size(); ++t) entry_[t] += steps * entry_steps_[t][axis - 1];
    if (!wraps) return;
  }
}

}  // namespace lowtide
