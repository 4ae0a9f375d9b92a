#include "lowtide/kernels/copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace lowtide {
namespace {

constexpr std::size_t max_axes = 64;
constexpr std::int64_t tile = 16;  // items a side: at 4096-byte strides 32 was 1.4 times slower, L1 sets overflow
constexpr std::size_t largest_tiled_item = 32;  // half a cache line: beyond, a tile saves no line

struct Axis {
  std::int64_t extent;
  std::int64_t dst_stride;
  std::int64_t src_stride;
};

// What is left to copy: items of item_bytes along axes, the last of which varies fastest in dst.
struct Plan {
  std::byte* dst;
  const std::byte* src;
  std::size_t item_bytes;
  std::size_t count = 0;
  std::array<Axis, max_axes> axes;

  Axis& last() { return axes[count - 1]; }
};

std::int64_t magnitude(std::int64_t stride) { return stride < 0 ? -stride : stride; }

bool slower_in_dst(const Axis& a, const Axis& b) {
  if (magnitude(a.dst_stride) != magnitude(b.dst_stride)) return magnitude(a.dst_stride) > magnitude(b.dst_stride);
  return magnitude(a.src_stride) > magnitude(b.src_stride);
}

void merge_axes(Plan& plan) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < plan.count; ++i) {
    const Axis inner = plan.axes[i];
    if (kept > 0) {
      Axis& outer = plan.axes[kept - 1];
      const bool runs_on =
          outer.dst_stride == inner.dst_stride * inner.extent && outer.src_stride == inner.src_stride * inner.extent;
      if (runs_on) {
        outer = {outer.extent * inner.extent, inner.dst_stride, inner.src_stride};
        continue;
      }
    }
    plan.axes[kept++] = inner;
  }
  plan.count = kept;
}

void take_contiguous_run_as_item(Plan& plan) {
  if (plan.count == 0) return;
  const auto item = static_cast<std::int64_t>(plan.item_bytes);
  if (plan.last().dst_stride != item || plan.last().src_stride != item) return;
  plan.item_bytes *= static_cast<std::size_t>(plan.last().extent);
  --plan.count;
}

Plan simplified(std::byte* dst, std::span<const std::int64_t> dst_strides, const std::byte* src,
                std::span<const std::int64_t> src_strides, std::span<const std::int64_t> shape, std::size_t itemsize) {
  Plan plan{.dst = dst, .src = src, .item_bytes = itemsize, .axes = {}};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    Axis axis{shape[i], dst_strides[i], src_strides[i]};
    if (axis.dst_stride < 0) {
      plan.dst += axis.dst_stride * (axis.extent - 1);
      plan.src += axis.src_stride * (axis.extent - 1);
      axis.dst_stride = -axis.dst_stride;
      axis.src_stride = -axis.src_stride;
    }
    plan.axes[plan.count++] = axis;
  }
  std::sort(plan.axes.begin(), plan.axes.begin() + static_cast<std::ptrdiff_t>(plan.count), slower_in_dst);
  merge_axes(plan);
  take_contiguous_run_as_item(plan);
  return plan;
}

// N = 0: an item of any size.
template <std::size_t N>
void copy_item(std::byte* dst, const std::byte* src, std::size_t item_bytes) {
  std::memcpy(dst, src, N == 0 ? item_bytes : N);
}

template <std::size_t N>
void copy_run(std::byte* dst, const std::byte* src, const Axis& axis, std::size_t item_bytes) {
  const auto run_with = [&](std::int64_t dst_stride) {
    for (std::int64_t i = 0; i < axis.extent; ++i)
      copy_item<N>(dst + i * dst_stride, src + i * axis.src_stride, item_bytes);
  };
  // A stride the compiler knows saves an addition an item.
  if (N != 0 && axis.dst_stride == std::int64_t{N}) {
    run_with(std::int64_t{N});
  } else {
    run_with(axis.dst_stride);
  }
}

template <std::size_t N>
void copy_plane(std::byte* dst, const std::byte* src, const Axis& outer, const Axis& inner, std::size_t item_bytes) {
  for (std::int64_t i0 = 0; i0 < outer.extent; i0 += tile) {
    const std::int64_t i1 = std::min(i0 + tile, outer.extent);
    for (std::int64_t j0 = 0; j0 < inner.extent; j0 += tile) {
      const Axis part{std::min(tile, inner.extent - j0), inner.dst_stride, inner.src_stride};
      for (std::int64_t i = i0; i < i1; ++i) {
        copy_run<N>(dst + i * outer.dst_stride + j0 * inner.dst_stride,
                    src + i * outer.src_stride + j0 * inner.src_stride, part, item_bytes);
      }
    }
  }
}

// Calls body(dst, src) for every index of the first `count` axes.
template <class Body>
void for_each_outer(const Plan& plan, std::size_t count, Body body) {
  std::array<std::int64_t, max_axes> index{};
  std::byte* dst = plan.dst;
  const std::byte* src = plan.src;
  for (;;) {
    body(dst, src);
    std::size_t axis = count;
    for (;;) {
      if (axis == 0) return;
      const Axis& a = plan.axes[--axis];
      if (++index[axis] < a.extent) {
        dst += a.dst_stride;
        src += a.src_stride;
        break;
      }
      index[axis] = 0;
      dst -= a.dst_stride * (a.extent - 1);
      src -= a.src_stride * (a.extent - 1);
    }
  }
}

// The axis along which src is nearest to contiguous; broadcast axes are no help.
std::size_t fastest_in_src(const Plan& plan) {
  std::size_t best = plan.count - 1;
  for (std::size_t i = 0; i < plan.count; ++i) {
    const std::int64_t stride = magnitude(plan.axes[i].src_stride), least = magnitude(plan.axes[best].src_stride);
    if (stride != 0 && least != 0 && stride < least) best = i;
  }
  return best;
}

template <std::size_t N>
void run(Plan& plan) {
  if (plan.count == 0) return copy_item<N>(plan.dst, plan.src, plan.item_bytes);
  const std::size_t crossing = fastest_in_src(plan);
  if (crossing != plan.count - 1 && plan.item_bytes <= largest_tiled_item) {
    std::rotate(plan.axes.begin() + static_cast<std::ptrdiff_t>(crossing),
                plan.axes.begin() + static_cast<std::ptrdiff_t>(crossing) + 1,
                plan.axes.begin() + static_cast<std::ptrdiff_t>(plan.count) - 1);
    const Axis outer = plan.axes[plan.count - 2], inner = plan.last();
    return for_each_outer(plan, plan.count - 2, [&](std::byte* dst, const std::byte* src) {
      copy_plane<N>(dst, src, outer, inner, plan.item_bytes);
    });
  }
  const Axis inner = plan.last();
  for_each_outer(plan, plan.count - 1,
                 [&](std::byte* dst, const std::byte* src) { copy_run<N>(dst, src, inner, plan.item_bytes); });
}

}  // namespace

void copy_strided(std::byte* dst, std::span<const std::int64_t> dst_strides, const std::byte* src,
                  std::span<const std::int64_t> src_strides, std::span<const std::int64_t> shape,
                  std::size_t itemsize) {
  if (dst_strides.size() != shape.size() || src_strides.size() != shape.size() || shape.size() > max_axes) {
    throw std::invalid_argument(fmt::format("copy of {} axes with {} and {} strides; at most {} axes", shape.size(),
                                            dst_strides.size(), src_strides.size(), max_axes));
  }
  const bool negative = std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; });
  if (negative) throw std::invalid_argument("copy with a negative extent");
  if (itemsize == 0 || std::find(shape.begin(), shape.end(), 0) != shape.end()) return;
  Plan plan = simplified(dst, dst_strides, src, src_strides, shape, itemsize);
  switch (plan.item_bytes) {
    case 1:
      return run<1>(plan);
    case 2:
      return run<2>(plan);
    case 4:
      return run<4>(plan);
    case 8:
      return run<8>(plan);
    case 16:
      return run<16>(plan);
    default:
      return run<0>(plan);
  }
}

}  // namespace lowtide
