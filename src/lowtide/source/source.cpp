#include "lowtide/source/source.h"

#include <algorithm>
#include <limits>

#include "lowtide/error.h"
#include "lowtide/index/index_scan.h"
#include "lowtide/kernels/byteswap.h"

namespace lowtide {

const Lease& Workspace::in_flight() {
  if (!grown_ && most_bytes_ > reserved_.bytes()) {
    reserved_.absorb(Budget::process().try_take_between(page_bytes, most_bytes_ - reserved_.bytes(), Purpose::staging));
  }
  grown_ = true;
  return reserved_;
}

std::uint64_t Workspace::usable_bytes() { return staging_ ? staging_->size_bytes() : in_flight().bytes(); }

Staging& Workspace::staging() {
  if (!staging_) staging_.emplace(most_bytes_, std::move(reserved_));
  return *staging_;
}

Workspace& Workspace::operand(std::size_t number, const Needs& needs) {
  while (operands_.size() <= number) operands_.emplace_back();
  if (!operands_[number]) {
    operands_[number] = std::make_unique<Workspace>(needs, reserved_.split(needs.least_bytes, Purpose::staging));
  }
  return *operands_[number];
}

Box Box::dense(Selection elements, std::size_t itemsize) {
  std::vector<std::int64_t> strides = dense_strides(elements.shape(), itemsize);
  return {.elements = std::move(elements), .strides_bytes = std::move(strides)};
}

std::unique_ptr<RowReader> Source::row_reader(const Selection&, std::int64_t, Workspace&) const { return nullptr; }

std::unique_ptr<Writing> Source::begin_writing() const {
  throw UnsupportedError(name() + " cannot be written to: save it to a file first");
}

void Source::write(std::span<const Box>, Workspace&) const { begin_writing(); }

Selection Source::whole() const {
  const auto item = static_cast<std::int64_t>(itemsize(dtype()));
  return Selection::whole(shape(), std::numeric_limits<std::int64_t>::max() / item);
}

std::vector<std::int64_t> dense_strides(const Shape& shape, std::size_t itemsize) {
  std::vector<std::int64_t> strides(shape.size());
  auto step = static_cast<std::int64_t>(itemsize);
  for (std::size_t i = shape.size(); i > 0; --i) {
    strides[i - 1] = step;
    step *= std::max<std::int64_t>(shape[i - 1], 1);
  }
  return strides;
}

void swap_bytes(const Box& box, DType dtype) {
  Shape shape = box.elements.shape();
  std::vector<std::int64_t> strides = box.strides_bytes;
  collapse(shape, strides);
  const auto item = static_cast<std::int64_t>(itemsize(dtype));
  for_each_row(box.memory, shape, strides, [&](const std::byte* at, auto) {
    auto* row = const_cast<std::byte*>(at);
    if (strides.back() == item) {
      byteswap(row, dtype, static_cast<std::size_t>(shape.back()));
    } else {
      for (std::int64_t i = 0; i < shape.back(); ++i) byteswap(row + i * strides.back(), dtype, 1);
    }
  });
}

}  // namespace lowtide
