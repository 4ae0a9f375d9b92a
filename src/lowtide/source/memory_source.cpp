#include "lowtide/source/memory_source.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "lowtide/base/interrupt.h"
#include "lowtide/transfer/pieces.h"

namespace lowtide {
namespace {

constexpr std::size_t runs_at_once = 256;

}  // namespace

MemorySource::MemorySource(const std::byte* data, Shape shape, std::vector<std::int64_t> strides_bytes, DType dtype,
                           Endian endian, std::shared_ptr<const void> owner)
    : lowest_(data),
      shape_(std::move(shape)),
      strides_bytes_(std::move(strides_bytes)),
      dtype_(dtype),
      endian_(endian),
      owner_(std::move(owner)) {
  if (std::find(shape_.begin(), shape_.end(), 0) != shape_.end()) return;
  for (std::size_t i = 0; i < shape_.size(); ++i)
    first_ -= std::min<std::int64_t>(strides_bytes_[i], 0) * (shape_[i] - 1);
  lowest_ -= first_;
}

Needs MemorySource::needs(std::span<Box>) const { return {}; }

std::optional<MemorySource::View> MemorySource::view(const Selection& selection) const {
  if (endian_ != native_endian || !selection.tables().empty()) return std::nullopt;
  const ByteMap map = lower(selection, first_, strides_bytes_, itemsize(dtype_));
  View view{lowest_ + (map.size() > 0 ? map.base : 0), {}};
  auto misaligned = reinterpret_cast<std::uintptr_t>(view.data);
  for (const ByteAxis& axis : map.axes) {
    view.strides_bytes.push_back(axis.stride_bytes);
    if (axis.extent > 1) misaligned |= static_cast<std::uintptr_t>(axis.stride_bytes);
  }
  if (misaligned % alignment(dtype_) != 0) return std::nullopt;
  return view;
}

void MemorySource::read(std::span<const Box> boxes, Workspace&) const {
  for (const Box& box : boxes) {
    const Walk walk = make_walk(lower(box.elements, first_, strides_bytes_, itemsize(dtype_)), box.strides_bytes);
    const PieceCopy copy(walk);
    RunCursor cursor(walk);
    std::vector<Run> runs(runs_at_once);
    while (const std::size_t count = cursor.next(runs)) {
      for (std::size_t i = 0; i < count; ++i) copy.to_memory(runs[i], lowest_, 0, box.memory);
      interrupt_point();
    }
    if (endian_ != native_endian) swap_bytes(box, dtype_);
  }
}

}  // namespace lowtide
