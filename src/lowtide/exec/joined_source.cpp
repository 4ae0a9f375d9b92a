#include "lowtide/exec/joined_source.h"

#include <algorithm>

#include "lowtide/base/interrupt.h"
#include "lowtide/transfer/byte_map.h"

namespace lowtide {
namespace {

void read_into(const Source& source, Selection elements, const std::vector<std::int64_t>& strides, std::byte* memory,
               Workspace& workspace) {
  Box box{.elements = std::move(elements), .strides_bytes = strides, .memory = memory};
  source.needs(box);
  source.read(box, workspace);
}

}  // namespace

JoinedSource::JoinedSource(std::vector<Array> parts, std::size_t axis)
    : parts_(std::move(parts)), axis_(axis), shape_(parts_[0].shape()) {
  shape_[axis_] = 0;
  for (const Array& part : parts_) ends_.push_back(shape_[axis_] += part.shape()[axis_]);
}

std::uint64_t JoinedSource::stamp() const {
  std::uint64_t stamp = 0;
  for (const Array& part : parts_) stamp = stamp * 0x9E3779B97F4A7C15u + part.source()->stamp();
  return stamp;
}

Needs JoinedSource::needs(std::span<Box> boxes) const {
  Needs all;
  for (const Box& box : boxes) {
    const Needs one = needs_of_any(box.elements.size());
    all = {std::max(all.least_bytes, one.least_bytes), std::max(all.most_bytes, one.most_bytes)};
  }
  return all;
}

Needs JoinedSource::needs_of_any(std::int64_t size) const {
  Needs all;
  for (const Array& part : parts_) {
    const Needs one = part.source()->needs_of_any(size);
    all.least_bytes += one.least_bytes;
    all.most_bytes += one.most_bytes;
  }
  return all;
}

void JoinedSource::read(std::span<const Box> boxes, Workspace& workspace) const {
  for (const Box& box : boxes) {
    if (box.elements.size() == 0) continue;
    workspace.usable_bytes();  // grows before parts take their shares
    for (std::size_t i = 0; i < parts_.size(); ++i)
      workspace.operand(i, parts_[i].source()->needs_of_any(box.elements.size()));
    read_box(box.elements, box.strides_bytes, box.memory, workspace);
  }
}

void JoinedSource::read_part(std::size_t part, const Selection& elements, const std::vector<std::int64_t>& strides,
                             std::byte* memory, Workspace& workspace) const {
  std::vector<Input> inputs = elements.inputs();
  inputs[axis_].start -= part > 0 ? ends_[part - 1] : 0;
  inputs[axis_].extent = parts_[part].shape()[axis_];
  const Selection of_part = parts_[part].selection().of(elements.with(std::move(inputs), elements.axes()));
  read_into(*parts_[part].source(), of_part, strides, memory, workspace.operand(part, {}));
}

void JoinedSource::read_box(const Selection& elements, const std::vector<std::int64_t>& strides, std::byte* memory,
                            Workspace& workspace) const {
  // Along which of the box's axes the place on the joined axis changes.
  std::vector<std::size_t> varying;
  for (std::size_t i = 0; i < elements.ndim(); ++i) {
    const Axis& axis = elements.axes()[i];
    const bool steps = axis.step != 0 && axis.input == axis_;
    const bool looks_up = std::ranges::any_of(elements.tables(), [&](const Table& table) {
      return table.input == axis_ && std::ranges::count(table.axes, i) > 0;
    });
    if (axis.extent > 1 && (steps || looks_up)) varying.push_back(i);
  }
  const auto part_at = [&](std::int64_t place) {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, place) - ends_.begin());
  };
  const std::int64_t start = elements.inputs()[axis_].start;
  if (varying.empty()) return read_part(part_at(start), elements, strides, memory, workspace);
  const std::size_t cut = varying[0];
  const std::int64_t extent = elements.axes()[cut].extent;
  const bool even = varying.size() == 1 && elements.axes()[cut].step != 0 &&
                    std::ranges::none_of(elements.tables(), [&](const Table& table) { return table.input == axis_; });
  for (std::int64_t begin = 0, end = 0; begin < extent; begin = end) {
    std::byte* there = memory + begin * strides[cut];
    interrupt_point();
    if (!even) {
      end = begin + 1;
      read_box(elements.narrow(cut, begin, end), strides, there, workspace);
      continue;
    }
    const std::int64_t step = elements.axes()[cut].step;
    const std::int64_t place = start + begin * step;
    const std::size_t part = part_at(place);
    const std::int64_t low = part > 0 ? ends_[part - 1] : 0;
    const std::int64_t count = step > 0 ? (ends_[part] - place + step - 1) / step : (place - low) / -step + 1;
    end = std::min(extent, begin + count);
    read_part(part, elements.narrow(cut, begin, end), strides, there, workspace);
  }
}

Needs ReshapedSource::needs(std::span<Box> boxes) const {
  Needs all;
  for (const Box& box : boxes) {
    const Needs one = needs_of_any(box.elements.size());
    all = {std::max(all.least_bytes, one.least_bytes), std::max(all.most_bytes, one.most_bytes)};
  }
  return all;
}

Needs ReshapedSource::needs_of_any(std::int64_t size) const { return array_.source()->needs_of_any(size); }

// Elements [begin, end) in C order: at most one box of whole slices, and less than whole ones before and after it.
void ReshapedSource::read_range(std::int64_t begin, std::int64_t end, std::byte* memory, Workspace& workspace) const {
  const Shape inner = array_.shape();
  const std::size_t item = itemsize(dtype());
  while (begin < end) {
    // The outermost axis of which whole steps lie within the range.
    std::int64_t step = 1;
    std::size_t axis = inner.size();
    while (axis > 0 && begin % (step * inner[axis - 1]) == 0 && end - begin >= step * inner[axis - 1])
      step *= inner[--axis];
    Selection part = array_.selection();
    std::int64_t count = 1;
    if (axis > 0) {
      const std::int64_t at = begin / step % inner[axis - 1];
      count = std::min((end - begin) / step, inner[axis - 1] - at);
      part = part.narrow(axis - 1, at, at + count);
      std::int64_t outer = begin / step / inner[axis - 1];
      for (std::size_t i = axis - 1; i-- > 0; outer /= inner[i])
        part = part.narrow(i, outer % inner[i], outer % inner[i] + 1);
    }
    const Shape shape = part.shape();
    read_into(*array_.source(), std::move(part), dense_strides(shape, item), memory, workspace);
    begin += count * step;
    memory += static_cast<std::size_t>(count * step) * item;
  }
}

void ReshapedSource::read(std::span<const Box> boxes, Workspace& workspace) const {
  const auto item = static_cast<std::int64_t>(itemsize(dtype()));
  for (const Box& box : boxes) {
    if (box.elements.size() == 0) continue;
    const ByteMap map = lower(box.elements, 0, dense_strides(shape_, 1), 1);
    // The last axes along which elements follow each other both in the array and in the memory.
    std::size_t runs = map.axes.size();
    std::int64_t length = 1;
    const auto varies = [&](std::size_t axis) {
      return std::ranges::any_of(map.tables,
                                 [&](const OffsetTable& table) { return std::ranges::count(table.axes, axis) > 0; });
    };
    while (runs > 0 && !varies(runs - 1) &&
           (map.axes[runs - 1].extent == 1 ||
            (map.axes[runs - 1].stride_bytes == length && box.strides_bytes[runs - 1] == length * item)))
      length *= map.axes[--runs].extent;
    std::vector<std::int64_t> index(runs, 0);
    while (true) {
      std::int64_t place = map.base;
      std::byte* memory = box.memory;
      for (std::size_t i = 0; i < runs; ++i) {
        place += index[i] * map.axes[i].stride_bytes;
        memory += index[i] * box.strides_bytes[i];
      }
      for (const OffsetTable& table : map.tables) {
        std::int64_t entry = 0;
        for (std::size_t i = 0; i < table.axes.size(); ++i) entry += index[table.axes[i]] * table.strides[i];
        place += table.entries[entry] * table.scale_bytes;
      }
      read_range(place, place + length, memory, workspace);
      interrupt_point();
      std::size_t axis = runs;
      for (; axis > 0; --axis) {
        if (++index[axis - 1] < map.axes[axis - 1].extent) break;
        index[axis - 1] = 0;
      }
      if (axis == 0) break;
    }
  }
}

}  // namespace lowtide
