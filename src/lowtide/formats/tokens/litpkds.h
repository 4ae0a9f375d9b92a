// The packed datasets of lit-gpt and TinyLlama.
//
//   0   7 bytes  LITPKDS
//   7   uint64   version 1
//   15  uint8    dtype code: 1 uint8, 2 int8, 3 int16, 4 int32, 5 int64, 8 uint16
//   16  uint64   token count
//   24           tokens
//
//   if (litpkds::sniff(head)) layout = litpkds::parse(head, file_bytes, path);
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lowtide/formats/layout.h"

namespace lowtide::litpkds {

inline constexpr std::size_t header_bytes = 24;

bool sniff(std::span<const std::byte> head);

// REQUIRES: sniff(head). Throws FormatError where a field or the file's size is wrong, UnsupportedError for float codes.
Layout parse(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view path);

}  // namespace lowtide::litpkds
