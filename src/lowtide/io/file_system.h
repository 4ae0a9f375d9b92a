// What the file system under a descriptor does with direct IO and with the page cache.
//
//   std::string refusal;
//   std::size_t unit = direct_unit(fd, refusal);       // 0: no direct IO, and refusal says why
//   std::uint64_t around = spill_bytes(fd);            // pages that come in unasked around each read
//
// Thread-safe. Never blocks for long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lowtide::io {

// What direct requests may begin and end on, or 0 and why there are none. A real read must follow: not every kernel says.
std::size_t direct_unit(int fd, std::string& refusal);
// How far around a read pages come in that nobody asked for: compressed pieces are unpacked whole, and all their pages stay.
std::uint64_t spill_bytes(int fd);

}  // namespace lowtide::io
