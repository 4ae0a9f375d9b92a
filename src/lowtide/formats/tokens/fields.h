// Fields of token file headers, as the formats of this folder share them.
//
//   auto count = little<std::uint64_t>(head, 18);               // at any alignment
//   DType dtype = dtype_of_code(code, path);                    // UnsupportedError, FormatError
//   check_size({"an llm.c token file", 1024, count, dtype}, file_bytes, path);
//
// Thread-safe: pure functions.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "lowtide/dtype.h"
#include "lowtide/shape.h"

namespace lowtide::tokens {

static_assert(native_endian == Endian::little);

// REQUIRES: offset + sizeof(T) <= head.size().
template <std::integral T>
T little(std::span<const std::byte> head, std::size_t offset) {
  T value;
  std::memcpy(&value, head.data() + offset, sizeof value);
  return value;
}

bool starts_with(std::span<const std::byte> head, std::string_view magic);

// Megatron's codes, which LITPKDS took over: 1 uint8, 2 int8, 3 int16, 4 int32, 5 int64, 8 uint16. Throws UnsupportedError for
// 6, 7 and 9, which are floats, different ones in different forks, and FormatError for others.
DType dtype_of_code(std::uint8_t code, std::string_view path);

struct Promise {
  std::string_view what;  // "an llm.c token file"
  std::uint64_t header_bytes = 0;
  std::uint64_t token_count = 0;
  DType dtype = DType::uint16;
};
// Throws FormatError, with the numbers, unless the file has the header and the tokens and not a byte more.
void check_size(const Promise& promise, std::uint64_t file_bytes, std::string_view path);

}  // namespace lowtide::tokens
