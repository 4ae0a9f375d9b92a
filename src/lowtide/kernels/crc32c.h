// CRC-32C (Castagnoli, as iSCSI, ext4 and Zarr use it) of bytes that come in pieces.
//
//   std::uint32_t sum = crc32c(first, n);
//   sum = crc32c(second, m, sum);                 // of both, one after the other
//
// Thread-safe: pure. Needs no alignment. One core does about 8 GB/s with SSE4.2.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

// `before` is the sum of what came before, 0 at the start.
std::uint32_t crc32c(const std::byte* data, std::size_t bytes, std::uint32_t before = 0);

// The same by table, for machines without the instruction.
std::uint32_t crc32c_portable(const std::byte* data, std::size_t bytes, std::uint32_t before = 0);

}  // namespace lowtide
