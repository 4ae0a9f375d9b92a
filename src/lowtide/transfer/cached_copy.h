// Bytes that the page cache has already, copied from there, leaving it as it is.
//
//   if (!copy_cached(file, to, {begin, end})) …read them from the disk…
//
// A read through the cache would do more than copy: a page that somebody's read-ahead has marked starts the next read-ahead, of up to
// the device's window (8 MiB seen), whatever was advised for the descriptor (POSIX_FADV_RANDOM stops the synchronous kind alone). What comes
// in that way nobody has paid for and nobody drops. A map advised MADV_RANDOM has no such effect; a read of a file that is all there has
// nothing to bring in.
//
// Thread-safe. Never waits for the disk, but for a page that went away since the kernel was asked. REQUIRES: the file is pinned.
#pragma once

#include <cstddef>

#include "lowtide/io/file.h"
#include "lowtide/transfer/extent.h"

namespace lowtide {

// False, and `to` undefined, if not all of it is cached or it cannot be copied. `maps`: whether the file is worth a map for it.
bool copy_cached(io::File& file, std::byte* to, Span range, bool maps = true);

}  // namespace lowtide
