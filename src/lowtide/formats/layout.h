// Where an array's bytes are in a file: what a format's header says, checked.
//
//   Layout layout = npy::parse(head, file_bytes, "x.npy");
//   layout.data_offset; layout.data_bytes(); layout.strides_bytes();
//
// Plain data. Formats never open a file: they turn header bytes into a Layout and back.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lowtide/dtype.h"
#include "lowtide/shape.h"

namespace lowtide {

struct Layout {
  std::string_view format;  // "npy", "raw", …: a string literal
  DType dtype = DType::uint8;
  Endian endian = native_endian;
  Order order = Order::c;
  Shape shape;
  std::uint64_t data_offset = 0;  // bytes from the start of the file

  std::uint64_t data_bytes() const;                 // product(shape) * itemsize; never overflows once checked
  std::vector<std::int64_t> strides_bytes() const;  // by order
};

// product(shape) * itemsize. Throws FormatError on a negative extent, too many dimensions or overflow of 2^63 - 1.
std::uint64_t checked_bytes(const Shape& shape, DType dtype, std::string_view path);

}  // namespace lowtide
