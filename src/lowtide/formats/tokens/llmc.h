// The token files of llm.c and modded-nanogpt.
//
//   0     int32    magic 20240520 or 20240801
//   4     int32    version 1 or 7
//   8     int32    token count
//   12    253 x 0
//   1024  uint16[] (20240520) or uint32[] (20240801)
//
//   if (llmc::sniff(head)) layout = llmc::parse(head, file_bytes, path);
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lowtide/formats/layout.h"

namespace lowtide::llmc {

inline constexpr std::size_t header_bytes = 1024;

// Whether the content begins with a magic number of llm.c's, in either byte order.
bool sniff(std::span<const std::byte> head);

// REQUIRES: sniff(head). Throws FormatError (a header that is not whole, byte-swapped or of an unknown version, or that disagrees
// with the file's size) and UnsupportedError (evaluation files).
Layout parse(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view path);

}  // namespace lowtide::llmc
