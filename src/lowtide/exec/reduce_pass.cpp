#include "lowtide/exec/reduce_pass.h"

#include <algorithm>
#include <utility>

#include "lowtide/kernels/copy.h"
#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

// Kept elements of a tile, and of the largest one.
std::int64_t kept_size(const Shape& extent, const TilePlan& plan, std::size_t kept_ndim) {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < extent.size(); ++i) {
    if (plan.order[i] < kept_ndim) size *= extent[i];
  }
  return size;
}

}  // namespace

ReducePass::ReducePass(Program program, std::size_t kept_ndim, std::vector<ReduceSpec> specs)
    : program_(std::move(program)), kept_ndim_(kept_ndim), specs_(std::move(specs)) {
  for (std::size_t i = 0; i < program_.space.size(); ++i) {
    reduced_.push_back(i >= kept_ndim_);
    kept_.push_back(i < kept_ndim_);
  }
  for (std::size_t k = 0; k < specs_.size(); ++k) {
    const Reduction reduction = specs_[k].reduction;
    in_order_ = in_order_ || reduction == Reduction::argmin || reduction == Reduction::argmax;
    const auto same = std::ranges::find_if(items_, [&](const ReduceItem& item) {
      return item.reduction == reduction && program_.outputs[item.output] == program_.outputs[k];
    });
    item_of_.push_back(static_cast<std::size_t>(same - items_.begin()));
    if (same == items_.end()) items_.push_back({k, reduction});
  }
}

PlanOptions ReducePass::options() const {
  return {.keep_order = in_order_, .outermost = {reinterpret_cast<const bool*>(kept_.data()), kept_.size()}};
}

BytesBeside ReducePass::beside(const Reducer& reducer) const {
  return [this, &reducer](const TilePlan& plan) {
    return round_up(reducer.bytes(plan), 64) + static_cast<std::uint64_t>(kept_size(plan.cut, plan, kept_ndim_)) * 16;
  };
}

Needs ReducePass::needs() const {
  const Reducer reducer(program_, reduced_, items_);
  return Pass::needs(program_, options(), beside(reducer));
}

void ReducePass::run(Workspace& workspace, std::span<const StridedView> results) const {
  Reducer reducer(program_, reduced_, items_);
  Pass pass(program_, options(), beside(reducer), workspace);
  const TilePlan& plan = pass.plan();
  reducer.begin(plan, pass.beside());
  const std::span<std::byte> memory = pass.beside().subspan(round_up(reducer.bytes(plan), 64));
  const auto same_window = [&](const Tile& a, const Tile& b) {
    for (std::size_t i = 0; i < plan.order.size(); ++i) {
      if (!reducer.is_reduced(i) && a.begin[i] != b.begin[i]) return false;
    }
    return true;
  };
  Tile last;
  bool any = false;
  for (Tile tile; pass.tiles().next(tile);) {
    if (any && !same_window(last, tile)) {
      finish(plan, last, reducer, memory, results);
      reducer.clear();
    }
    reducer.add(tile);
    last.begin = tile.begin;
    last.extent = tile.extent;
    any = true;
  }
  if (any) {
    finish(plan, last, reducer, memory, results);
    return;
  }
  // Nothing to reduce: every result is what no element gives.
  last.begin.assign(plan.extent.size(), 0);
  last.extent = plan.cut;
  for (std::size_t i = 0; i < plan.loop.size();) {
    finish(plan, last, reducer, memory, results);
    for (i = 0; i < plan.loop.size(); ++i) {
      const std::size_t axis = plan.loop[plan.loop.size() - 1 - i];
      if (reducer.is_reduced(axis)) continue;
      last.begin[axis] += plan.cut[axis];
      last.extent[axis] = std::min(plan.cut[axis], plan.extent[axis] - last.begin[axis]);
      if (last.begin[axis] < plan.extent[axis]) break;
      last.begin[axis] = 0;
      last.extent[axis] = plan.cut[axis];
    }
  }
}

void ReducePass::finish(const TilePlan& plan, const Tile& tile, const Reducer& reducer, std::span<std::byte> memory,
                        std::span<const StridedView> results) const {
  Shape shape;
  std::vector<std::size_t> axes;  // of the results
  std::vector<std::int64_t> begin;
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    if (reducer.is_reduced(i)) continue;
    shape.push_back(tile.extent[i]);
    axes.push_back(plan.order[i]);
    begin.push_back(tile.begin[i]);
  }
  const auto count = static_cast<std::size_t>(kept_size(tile.extent, plan, kept_ndim_));
  if (count == 0) return;
  for (std::size_t k = 0; k < specs_.size(); ++k) {
    const ReduceSpec& spec = specs_[k];
    lowtide::finish(spec.reduction, program_.output_dtypes[k], reducer.states(item_of_[k]), count, memory.data(),
                    spec.dtype, spec.finish);
    std::byte* to = const_cast<std::byte*>(results[k].data);
    std::vector<std::int64_t> to_strides;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      to_strides.push_back(results[k].strides_bytes[axes[i]]);
      to += begin[i] * to_strides.back();
    }
    copy_strided(to, to_strides, memory.data(), dense_strides(shape, itemsize(spec.dtype)), shape,
                 itemsize(spec.dtype));
  }
}

}  // namespace lowtide
