// What a file says of itself: its format by its first bytes, its layout by its header, however long that is.
//
//   const std::vector<std::byte> head = file->take_head();
//   if (const Format* format = sniff_format(head)) layout = header_layout(*file, head, *format);
//
// Thread-safe. Blocks for the disk where the header is longer than `head`. REQUIRES: the file is pinned.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lowtide/formats/registry.h"
#include "lowtide/io/file.h"

namespace lowtide {

// Throws what the format's parse() does, IoError, BudgetError where a long header has no room, and for a format that cannot be opened
// what refuse_format() says.
Layout header_layout(io::File& file, std::span<const std::byte> head, const Format& format);

// UnsupportedError that says what can be opened, and what to do; FormatError for what is no array.
[[noreturn]] void refuse_format(const std::string& path, const Format& format);

// The format of a folder; null where `path` is none that lowtide knows.
const Format* folder_format(const std::string& path);

}  // namespace lowtide
