#include "lowtide/exec/generated_source.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "lowtide/base/interrupt.h"
#include "lowtide/transfer/byte_map.h"

namespace lowtide {
namespace {

constexpr std::int64_t a_run = 512;

}  // namespace

GeneratedSource::GeneratedSource(Shape shape, DType dtype, std::string name, std::uint64_t stamp, Fill fill)
    : shape_(std::move(shape)), dtype_(dtype), name_(std::move(name)), stamp_(stamp), fill_(std::move(fill)) {}

Needs GeneratedSource::needs(std::span<Box>) const { return {}; }

void GeneratedSource::read(std::span<const Box> boxes, Workspace&) const {
  const auto item = static_cast<std::int64_t>(itemsize(dtype_));
  std::array<std::byte, a_run * 16> strip;
  for (const Box& box : boxes) {
    if (box.elements.size() == 0) continue;
    const ByteMap map = lower(box.elements, 0, dense_strides(shape_, 1), 1);
    const std::size_t ndim = map.axes.size();
    std::vector<std::int64_t> index(ndim, 0);
    const std::int64_t inner = ndim > 0 ? map.axes[ndim - 1].extent : 1;
    const std::int64_t inner_step = ndim > 0 ? map.axes[ndim - 1].stride_bytes : 0;
    const std::int64_t memory_step = ndim > 0 ? box.strides_bytes[ndim - 1] : item;
    // Where an index array depends on the last axis, places follow no progression.
    const bool even = std::ranges::all_of(
        map.tables, [&](const OffsetTable& table) { return table.axes.empty() || table.axes.back() + 1 != ndim; });
    const auto place_at = [&] {
      std::int64_t place = map.base;
      for (std::size_t i = 0; i < ndim; ++i) place += index[i] * map.axes[i].stride_bytes;
      for (const OffsetTable& table : map.tables) {
        std::int64_t entry = 0;
        for (std::size_t i = 0; i < table.axes.size(); ++i) entry += index[table.axes[i]] * table.strides[i];
        place += table.entries[entry] * table.scale_bytes;
      }
      return place;
    };
    while (true) {
      std::byte* out = box.memory;
      for (std::size_t i = 0; i + 1 < ndim; ++i) out += index[i] * box.strides_bytes[i];
      for (std::int64_t done = 0; done < inner;) {
        const std::int64_t count = even ? std::min(a_run, inner - done) : 1;
        if (ndim > 0) index[ndim - 1] = done;
        std::byte* to = out + done * memory_step;
        const bool dense = memory_step == item || count == 1;
        fill_({place_at(), inner_step, count}, dense ? to : strip.data());
        for (std::int64_t i = 0; i < count && !dense; ++i)
          std::memcpy(to + i * memory_step, strip.data() + i * item, static_cast<std::size_t>(item));
        done += count;
      }
      interrupt_point();
      std::size_t axis = ndim > 0 ? ndim - 1 : 0;
      for (; axis > 0; --axis) {
        if (++index[axis - 1] < map.axes[axis - 1].extent) break;
        index[axis - 1] = 0;
      }
      if (axis == 0) break;
    }
  }
}

}  // namespace lowtide
