// Every format that lowtide knows by its content, each registered once: how it is recognised, read, and written.
//
//   if (const Format* format = sniff_format(head)) …format->name…
//   for (const Format& format : all_formats()) …
//
// Folders (Zarr) are recognised by a file that they hold. A format that is recognised and cannot be opened says what to do instead.
//
// Thread-safe: constant data and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lowtide/formats/layout.h"

namespace lowtide {

struct Format {
  std::string_view name;   // "npy"
  std::string_view title;  // for messages: "HDF5"
  // Does the content of a file begin like this? Null for what no header tells (raw), and for folders.
  bool (*sniff)(std::span<const std::byte> head) = nullptr;
  // A file that a folder of this format holds in its top. Empty for files.
  std::span<const std::string_view> marker_files = {};
  // How many bytes from the start of the file parse() wants. Null: what was sniffed is enough.
  std::size_t (*header_bytes)(std::span<const std::byte> head, std::string_view path) = nullptr;
  // Header bytes and the size of the file to a checked layout. Null where lowtide cannot open it.
  Layout (*parse)(std::span<const std::byte> header, std::uint64_t file_bytes, std::string_view path) = nullptr;
  // The header of a new file, padded to so many bytes if it fits. Null where there is none.
  std::string (*write_header)(const Layout& layout, std::size_t pad_to) = nullptr;
  bool writes = false;
  bool has_keys = false;          // many arrays, each under a key
  bool is_array = true;           // false: part of something else, which `instead` names
  std::string_view instead = {};  // what to do with one that cannot be opened
};

std::span<const Format> all_formats();
const Format* sniff_format(std::span<const std::byte> head);  // null: none
const Format* format_named(std::string_view name);            // null: none

// "npy, raw, llm.c and litpkds": what open() takes.
std::string formats_opened();
std::string formats_written();

}  // namespace lowtide
