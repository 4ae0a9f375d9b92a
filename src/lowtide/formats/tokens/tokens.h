// Token files with a header of their own. Those without need a guess: see guess.h.
//
//   if (auto layout = tokens::sniff(head, file_bytes, path)) …           // llm.c, LITPKDS: one-dimensional
//
// llm.c, modded-nanogpt                                LITPKDS (lit-gpt, TinyLlama)
//   0     int32    magic 20240520 or 20240801            0    7 bytes  LITPKDS
//   4     int32    version 1 or 7                        7    uint64   version 1
//   8     int32    token count                           15   uint8    dtype code
//   12    253 x 0                                        16   uint64   tokens
//   1024  uint16[] (20240520) or uint32[] (20240801)     24            tokens
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "lowtide/formats/layout.h"

namespace lowtide::tokens {

// `head` holds the first 4096 bytes of the file, or all of a shorter one. Nothing if the content begins like none of these formats.
// Throws FormatError for one that does and is not whole (every field, against the file's size; the message has the numbers), and
// UnsupportedError for llm.c's evaluation files and for dtype codes that are not integers.
std::optional<Layout> sniff(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view path);

}  // namespace lowtide::tokens
