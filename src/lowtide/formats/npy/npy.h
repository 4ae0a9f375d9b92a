// The .npy format, versions 1.0 to 3.0: header bytes to Layout and back.
//
//   offset  bytes  field
//   0       6      \x93NUMPY
//   6       1      major version: 1, 2 or 3
//   7       1      minor version: 0
//   8       2 | 4  header length H, little-endian (u16 in version 1, u32 in 2 and 3)
//   10|12   H      a Python dict literal {'descr': …, 'fortran_order': …, 'shape': …}, spaces, \n
//   10|12+H        data
//
//   std::size_t n = npy::header_bytes(first_bytes, path);     // how much of the file is header; ≤ 64 KiB
//   Layout layout = npy::parse(head_of_n_bytes, file_bytes, path);
//   std::string head = npy::write_header(layout);             // 4096 bytes: data is aligned for direct IO
//
// Thread-safe: pure functions. Never allocates more than the header's own length; refuses before it allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lowtide/formats/layout.h"

namespace lowtide::npy {

inline constexpr std::size_t prefix_bytes = 12;             // enough for header_bytes()
inline constexpr std::size_t max_header_bytes = 64 * 1024;  // magic, version and length included
inline constexpr std::size_t written_header_bytes = 4096;   // what write_header() makes when it fits

bool sniff(std::span<const std::byte> first);  // does the content begin with the magic?

// Whole header size (magic to the last padding byte). `first` holds at least the first prefix_bytes of the file, or all
// of a shorter file. Throws FormatError.
std::size_t header_bytes(std::span<const std::byte> first, std::string_view path);

// Throws FormatError (grammar, shape, a file too short for its shape; the message has the numbers) or UnsupportedError
// (object, structured, string and date dtypes: the message says what is supported).
// A file longer than its header and data is accepted, as NumPy does.
Layout parse(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view path);

// A version 1.0 header for layout (its data_offset is ignored), padded to `pad_to` bytes in all, or to the next multiple
// of 64 beyond. The size does not depend on the slowest extent (the first, in Fortran order the last): after an append
// write_header(layout, old size) fits in place. Dtypes NumPy cannot name (bfloat16) throw UnsupportedError; a shape that
// checked_bytes() refuses, FormatError; pad_to above 10,000, which np.load would refuse, std::invalid_argument.
std::string write_header(const Layout& layout, std::size_t pad_to = written_header_bytes);

}  // namespace lowtide::npy
