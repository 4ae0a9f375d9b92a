#include "lowtide/array/dense.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "lowtide/base/units.h"
#include "lowtide/kernels/byteswap.h"
#include "lowtide/kernels/cast.h"
#include "lowtide/kernels/copy.h"
#include "lowtide/source/source.h"

namespace lowtide {
namespace {

constexpr std::uint64_t least_elements = 4096;
constexpr std::uint64_t most_elements = 256 * 1024;

std::string shape_text(const Shape& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ","));
}

std::uint64_t tile_bytes(DType from, DType to, std::uint64_t elements) {
  return round_up(elements * itemsize(from), page_bytes) + round_up(elements * itemsize(to), page_bytes);
}

}  // namespace

std::vector<std::int64_t> broadcast_strides(const ConstView& values, const Shape& shape) {
  const auto refuse = [&] {
    throw std::invalid_argument(fmt::format("could not broadcast input array from shape {} into shape {}",
                                            shape_text(values.shape), shape_text(shape)));
  };
  std::vector<std::int64_t> strides(shape.size(), 0);
  const std::size_t n = values.shape.size();
  for (std::size_t i = 0; i < n; ++i) {  // from the last axis backwards
    const std::int64_t extent = values.shape[n - 1 - i];
    if (i >= shape.size()) {
      if (extent != 1) refuse();
      continue;
    }
    const std::size_t axis = shape.size() - 1 - i;
    if (extent == shape[axis]) {
      strides[axis] = values.strides_bytes[n - 1 - i];
    } else if (extent != 1) {
      refuse();
    }
  }
  return strides;
}

std::uint64_t DenseTiles::least_bytes(DType from, DType to) { return tile_bytes(from, to, least_elements); }
std::uint64_t DenseTiles::most_bytes(DType from, DType to) { return tile_bytes(from, to, most_elements); }

DenseTiles::DenseTiles(const ConstView& values, Shape shape, DType dtype, Endian endian, Lease reserved)
    : values_(values),
      shape_(std::move(shape)),
      strides_(broadcast_strides(values, shape_)),
      dtype_(dtype),
      endian_(endian),
      staging_(most_bytes(values.dtype, dtype), std::move(reserved)),
      at_(shape_.size(), 0),
      done_(std::find(shape_.begin(), shape_.end(), 0) != shape_.end()) {
  if (done_) return;
  const std::uint64_t per_element = itemsize(values.dtype) + itemsize(dtype);
  most_elements_ = static_cast<std::int64_t>((staging_.size_bytes() - 2 * page_bytes) / per_element);
  std::int64_t whole = 1;  // elements of the axes that are not cut
  cut_count_ = shape_.size();
  while (cut_count_ > 0 && whole * shape_[cut_count_ - 1] <= most_elements_) whole *= shape_[--cut_count_];
  cut_extent_ = std::max<std::int64_t>(1, most_elements_ / whole);
}

bool DenseTiles::next(DenseTile& tile) {
  if (done_) return false;
  tile.begin = at_;
  tile.extent = shape_;
  std::int64_t count = 1;
  const std::byte* from = values_.data;
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    if (i + 1 < cut_count_) tile.extent[i] = 1;
    if (i + 1 == cut_count_) tile.extent[i] = std::min(cut_extent_, shape_[i] - at_[i]);
    count *= tile.extent[i];
    from += at_[i] * strides_[i];
  }
  std::byte* copied = staging_.data();
  const auto dense = dense_strides(tile.extent, itemsize(values_.dtype));
  copy_strided(copied, dense, from, strides_, tile.extent, itemsize(values_.dtype));
  if (values_.endian != native_endian) byteswap(copied, values_.dtype, static_cast<std::size_t>(count));
  std::byte* out = copied;
  if (values_.dtype != dtype_) {
    out = copied + round_up(static_cast<std::uint64_t>(count) * itemsize(values_.dtype), page_bytes);
    cast(copied, values_.dtype, out, dtype_, static_cast<std::size_t>(count));
  }
  if (endian_ != native_endian) byteswap(out, dtype_, static_cast<std::size_t>(count));
  tile.data = out;
  tile.bytes = static_cast<std::uint64_t>(count) * itemsize(dtype_);
  // An odometer over the axes that are cut.
  done_ = true;
  for (std::size_t i = cut_count_; i > 0; --i) {
    at_[i - 1] += tile.extent[i - 1];
    if (at_[i - 1] < shape_[i - 1]) {
      done_ = false;
      break;
    }
    at_[i - 1] = 0;
  }
  return true;
}

}  // namespace lowtide
