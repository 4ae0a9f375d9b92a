// The layout of an open .npy file, however long its header.
//
//   const std::vector<std::byte> head = file->take_head();
//   if (npy::sniff(head)) layout = npy_layout(*file, head);
//
// Thread-safe. Blocks for the disk where the header is longer than `head`. REQUIRES: the file is pinned.
#pragma once

#include <cstddef>
#include <span>

#include "lowtide/formats/layout.h"
#include "lowtide/io/file.h"

namespace lowtide {

// Throws what npy::parse does, IoError, and BudgetError where a long header has no room.
Layout npy_layout(io::File& file, std::span<const std::byte> head);

}  // namespace lowtide
