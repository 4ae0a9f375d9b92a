// Megatron's index of a token file: x.idx beside x.bin, which is bare tokens.
//
//   0           9 bytes    MMIDIDX\0\0
//   9           uint64     version 1
//   17          uint8      dtype code: 1 uint8, 2 int8, 3 int16, 4 int32, 5 int64, 8 uint16
//   18          uint64     sequences N
//   26          uint64     D, one more than documents
//   34          int32[N]   lengths in tokens          (none of the arrays is aligned)
//   34+4N       int64[N]   byte offsets in x.bin
//   34+12N      int64[D]   the sequence that each document begins with; the first is 0, the last is N
//   34+12N+8D   int8[N]    modes, in multimodal files only
//
//   if (megatron::sniff(head)) { auto index = megatron::parse(head, idx_bytes, bin_bytes, path); … }
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "lowtide/dtype.h"

namespace lowtide::megatron {

inline constexpr std::size_t header_bytes = 34;

struct Index {
  DType dtype = DType::uint16;
  std::uint64_t sequence_count = 0;
  std::uint64_t document_count = 0;
  bool multimodal = false;
  std::uint64_t lengths_offset = 0, pointers_offset = 0, documents_offset = 0;  // bytes in the .idx
};

bool sniff(std::span<const std::byte> head);
// Throws FormatError, with the numbers, where the header and the sizes of the two files disagree; UnsupportedError for float codes.
Index parse(std::span<const std::byte> head, std::uint64_t idx_bytes, std::uint64_t bin_bytes, std::string_view path);

}  // namespace lowtide::megatron
