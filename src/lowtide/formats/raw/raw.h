// Headerless files: what the caller says they hold, checked against the file's size.
//
//   Layout layout = raw::describe({.dtype = DType::uint16}, file_bytes, "t.bin");   // shape (-1,)
//
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "lowtide/formats/layout.h"

namespace lowtide::raw {

struct Spec {
  DType dtype = DType::uint8;
  Endian endian = native_endian;
  Order order = Order::c;
  Shape shape = {-1};        // at most one -1: computed from the file's size
  std::uint64_t offset = 0;  // bytes to skip
};

// Throws FormatError with the numbers and a shape, dtype or offset to type instead: bytes not a multiple of the item, a
// shape larger than the file, offset beyond the end, more than one -1, overflow. With all extents given the file may be longer.
Layout describe(const Spec& spec, std::uint64_t file_bytes, std::string_view path);

}  // namespace lowtide::raw
