#include "lowtide/exec/cumulative_source.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "lowtide/exec/expression_source.h"
#include "lowtide/exec/map.h"
#include "lowtide/exec/pass.h"
#include "lowtide/kernels/copy.h"
#include "lowtide/kernels/elementwise.h"

namespace lowtide {
namespace {

// The axes of a selection along which the place on one axis of the source changes.
std::vector<std::size_t> axes_along(const Selection& elements, std::size_t input) {
  std::vector<std::size_t> axes;
  for (std::size_t i = 0; i < elements.ndim(); ++i) {
    const Axis& axis = elements.axes()[i];
    const bool looks_up = std::ranges::any_of(elements.tables(), [&](const Table& table) {
      return table.input == input && std::ranges::count(table.axes, i) > 0;
    });
    if (axis.extent > 1 && ((axis.step != 0 && axis.input == input) || looks_up)) axes.push_back(i);
  }
  return axes;
}

// Lines along the scanned axis, from its beginning to the last place that is wanted: an axis of its own, the last.
struct Lines {
  Selection elements;
  std::int64_t start = 0, step = 1, count = 1;  // the places that are wanted
  std::optional<std::size_t> axis;              // of the box, along which they lie
};

Lines lines_of(const Selection& wanted, std::size_t input, std::optional<std::size_t> axis) {
  Lines lines;
  lines.axis = axis;
  lines.start = wanted.inputs()[input].start;
  Selection others = wanted;
  if (axis) {
    lines.step = wanted.axes()[*axis].step;
    lines.count = wanted.axes()[*axis].extent;
    others = wanted.narrow(*axis, 0, 1);
  }
  const std::int64_t last = std::max(lines.start, lines.start + (lines.count - 1) * lines.step);
  std::vector<Input> inputs = others.inputs();
  std::vector<Axis> axes = others.axes();
  inputs[input].start = 0;
  for (Axis& each : axes) {
    if (each.step != 0 && each.input == input) each.step = 0;  // one element
  }
  axes.push_back({last + 1, 1, input});
  lines.elements = others.with(std::move(inputs), std::move(axes));
  return lines;
}

struct Scan {
  Scan(const NodePtr& root, const Selection& elements)
      : program(make_program({&root, 1}, root->shape, &elements)), machine(program), item(itemsize(root->dtype)) {
    kept.assign(program.space.size(), 1);
    kept.back() = 0;
  }
  Program program;
  StripMachine machine;
  std::size_t item;
  std::vector<char> kept;

  PlanOptions options() const {
    return {.keep_order = true, .outermost = {reinterpret_cast<const bool*>(kept.data()), kept.size()}};
  }
  std::uint64_t scratch(const TilePlan& plan) const {
    return round_up(map_scratch_bytes(machine, program, plan.threads), 64);
  }
  static std::int64_t lines(const Shape& extent) {
    std::int64_t count = 1;
    for (std::size_t i = 0; i + 1 < extent.size(); ++i) count *= extent[i];
    return count;
  }
  BytesBeside beside() const {
    return [this](const TilePlan& plan) {
      const auto tile = static_cast<std::uint64_t>(plan.tile_size()),
                 carry = static_cast<std::uint64_t>(lines(plan.cut));
      return scratch(plan) + round_up(tile * item, 64) + carry * item;
    };
  }
};

}  // namespace

std::string CumulativeSource::name() const { return "running results of " + names_of_leaves(root_); }
std::uint64_t CumulativeSource::stamp() const { return stamp_of_leaves(root_); }

Needs CumulativeSource::needs(std::span<Box>) const { return needs_of_any(0); }

Needs CumulativeSource::needs_of_any(std::int64_t) const {
  const Scan scan(root_, lines_of(whole(), axis_, axis_).elements);
  return Pass::needs(scan.program, scan.options(), scan.beside());
}

void CumulativeSource::read(std::span<const Box> boxes, Workspace& workspace) const {
  for (const Box& box : boxes) {
    if (box.elements.size() > 0) read_box(box.elements, box.strides_bytes, box.memory, workspace);
  }
}

void CumulativeSource::read_box(const Selection& elements, const std::vector<std::int64_t>& strides, std::byte* memory,
                                Workspace& workspace) const {
  const std::vector<std::size_t> along = axes_along(elements, axis_);
  const bool looked_up =
      std::ranges::any_of(elements.tables(), [&](const Table& table) { return table.input == axis_; });
  if (along.size() > 1 || (looked_up && !along.empty())) {
    for (std::int64_t i = 0; i < elements.axes()[along[0]].extent; ++i)
      read_box(elements.narrow(along[0], i, i + 1), strides, memory + i * strides[along[0]], workspace);
    return;
  }
  const Lines lines = lines_of(elements, axis_, along.empty() ? std::nullopt : std::optional(along[0]));
  const Scan scan(root_, lines.elements);
  const auto item = static_cast<std::int64_t>(scan.item);
  Pass pass(scan.program, scan.options(), scan.beside(), workspace);
  std::byte* values = pass.beside().data() + scan.scratch(pass.plan());
  std::byte* carry = values + round_up(static_cast<std::uint64_t>(pass.plan().tile_size()) * scan.item, 64);
  const StripKernel kernel = strip_kernel(op_, dtype());
  for (Tile tile; pass.tiles().next(tile);) {
    // Places first: one operator adds a place of every line to the one before.
    const std::int64_t length = tile.extent.back(), count = Scan::lines(tile.extent);
    std::vector<std::int64_t> value_strides = dense_strides(tile.extent, scan.item);
    for (std::int64_t& stride : value_strides) stride /= length;
    value_strides.back() = count * item;
    const StridedView output{values, value_strides};
    map_tile(scan.machine, scan.program, tile, {&output, 1}, pass.beside().first(scan.scratch(pass.plan())));
    const auto row = [&](std::int64_t i) { return values + i * count * item; };
    for (std::int64_t i = tile.begin.back() == 0 ? 1 : 0; i < length; ++i) {
      const StripArgs arguments{.out = row(i),
                                .in = {i > 0 ? row(i - 1) : carry, row(i), nullptr},
                                .count = static_cast<std::size_t>(count),
                                .scalars = 0};
      kernel(arguments);
    }
    std::memcpy(carry, row(length - 1), static_cast<std::size_t>(count * item));
    // The places that are wanted of those that are here.
    const std::int64_t begin = tile.begin.back(), end = begin + length;
    for (std::int64_t o = 0; o < lines.count; ++o) {
      const std::int64_t place = lines.start + o * lines.step;
      if (place < begin || place >= end) continue;
      std::byte* to = memory + (lines.axis ? o * strides[*lines.axis] : 0);
      Shape shape(tile.extent.begin(), tile.extent.end() - 1);
      for (std::size_t k = 0; k < shape.size(); ++k) to += tile.begin[k] * strides[k];
      copy_strided(to, strides, row(place - begin), std::span(value_strides).first(shape.size()), shape, scan.item);
    }
  }
}

}  // namespace lowtide
