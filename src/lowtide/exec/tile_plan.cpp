#include "lowtide/exec/tile_plan.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "lowtide/source/file_source.h"
#include "lowtide/source/memory_source.h"

namespace lowtide {
namespace {

// Bytes from one element to the next along each axis, where the elements are; empty where that is not known.
std::vector<std::int64_t> strides_of(const ProgramOperand& operand) {
  std::vector<std::int64_t> strides;
  if (const FileSource* file = operand.source->in_one_file()) {
    for (const ByteAxis& axis : file->lower(operand.selection).axes) strides.push_back(axis.stride_bytes);
  } else if (const auto* memory = dynamic_cast<const MemorySource*>(operand.source.get())) {
    if (const auto view = memory->view(operand.selection)) strides = view->strides_bytes;
  }
  return strides;
}

// Elements that are really there: what is broadcast counts once.
std::int64_t stored_size(const Selection& selection) {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < selection.ndim(); ++i) {
    if (selection.depends_on(i)) size *= selection.axes()[i].extent;
  }
  return size;
}

// Axes with the longest strides first, as the largest operand has them; smaller ones decide about axes that it does not step along.
std::vector<std::size_t> order_of(const Program& program) {
  std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>> by_size;
  for (const ProgramOperand& operand : program.operands) {
    std::vector<std::int64_t> strides = strides_of(operand);
    if (!strides.empty()) by_size.emplace_back(stored_size(operand.selection), std::move(strides));
  }
  std::ranges::stable_sort(by_size, [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto before = [&](std::size_t a, std::size_t b) {
    for (const auto& [size, strides] : by_size) {
      const std::int64_t x = std::abs(strides[a]), y = std::abs(strides[b]);
      if (x != 0 && y != 0 && x != y) return x > y;
    }
    return false;
  };
  // By insertion, because operands may disagree in a circle.
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < program.space.size(); ++axis) {
    auto at = order.end();
    while (at != order.begin() && before(axis, *(at - 1))) --at;
    order.insert(at, axis);
  }
  return order;
}

}  // namespace

std::int64_t TilePlan::tile_count() const {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < extent.size(); ++i) count *= (extent[i] + cut[i] - 1) / std::max<std::int64_t>(cut[i], 1);
  return count;
}

std::int64_t TilePlan::tile_size() const {
  return std::accumulate(cut.begin(), cut.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t TilePlan::tile_extent(std::size_t axis, std::int64_t begin) const {
  std::int64_t end = std::min(extent[axis], begin + cut[axis]);
  if (axis == 0 && rows > 0) end = std::min(end, begin / rows * rows + rows);
  return end - begin;
}

TilePlan plan_tiles(const Program& program, std::uint64_t tile_bytes, const PlanOptions& options) {
  TilePlan plan;
  const std::size_t ndim = program.space.size();
  if (options.keep_order) {
    plan.order.resize(ndim);
    std::iota(plan.order.begin(), plan.order.end(), 0);
  } else {
    plan.order = order_of(program);
  }
  for (const std::size_t axis : plan.order) plan.extent.push_back(program.space[axis]);
  std::uint64_t bytes_each = 0;
  for (const ProgramOperand& operand : program.operands) {
    PlannedOperand planned{operand.source, operand.selection.transpose(plan.order), operand.dtype, {}, false};
    if (const auto* memory = dynamic_cast<const MemorySource*>(operand.source.get()))
      planned.memory = memory->view(planned.selection);
    if (!planned.memory) bytes_each += itemsize(operand.dtype);
    plan.operands.push_back(std::move(planned));
  }
  // What is in memory and needs no reading is cut, too, so that work can be interrupted and shared out.
  std::int64_t left =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(tile_bytes / std::max<std::uint64_t>(bytes_each, 8)));
  plan.cut.assign(ndim, 1);
  for (std::size_t i = ndim; i-- > 0;) {
    plan.cut[i] = std::clamp<std::int64_t>(left, 1, std::max<std::int64_t>(plan.extent[i], 1));
    left = plan.cut[i] < plan.extent[i] ? 1 : left / std::max<std::int64_t>(plan.extent[i], 1);
    if (left == 0) left = 1;
  }
  plan.rows = options.rows;
  if (plan.rows > 0) {
    // Tiles of about one size.
    const std::int64_t tiles = (plan.rows + plan.cut[0] - 1) / plan.cut[0];
    plan.cut[0] = (plan.rows + tiles - 1) / tiles;
  }
  for (PlannedOperand& operand : plan.operands) {
    operand.fixed = true;
    for (std::size_t i = 0; i < ndim; ++i) {
      if (plan.cut[i] < plan.extent[i] && operand.selection.depends_on(i)) operand.fixed = false;
    }
  }
  const auto kept = [&](std::size_t i) { return !options.outermost.empty() && options.outermost[plan.order[i]]; };
  for (const bool first : {true, false}) {
    for (std::size_t i = 0; i < ndim; ++i) {
      if (kept(i) == first) plan.loop.push_back(i);
    }
  }
  return plan;
}

TilePart part_of(const PlannedOperand& operand, std::span<const std::int64_t> begin,
                 std::span<const std::int64_t> extent) {
  TilePart part{operand.selection, {}, 0};
  const std::size_t item = itemsize(operand.dtype);
  std::vector<bool> steps(begin.size());
  for (std::size_t i = 0; i < begin.size(); ++i) {
    steps[i] = operand.selection.depends_on(i);
    const std::int64_t from = steps[i] ? begin[i] : 0;
    const std::int64_t count = steps[i] ? extent[i] : std::min<std::int64_t>(extent[i], 1);
    if (from != 0 || count != part.selection.axes()[i].extent)
      part.selection = part.selection.narrow(i, from, from + count);
  }
  part.strides_bytes = dense_strides(part.selection.shape(), item);
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (!steps[i]) part.strides_bytes[i] = 0;
  }
  part.bytes = static_cast<std::uint64_t>(part.selection.size()) * item;
  return part;
}

}  // namespace lowtide
