// What the kernel's page cache holds of a file, and how to give it back.
//
//   if (fully_cached(fd, offset, bytes)) …        // reading it through the cache costs a memcpy and no new memory
//   drop_cached(fd, offset, bytes);               // after a buffered read that brought pages in
//
// Thread-safe. cachestat(2) is used because it looks without touching: RWF_NOWAIT starts read-ahead on a miss, mincore needs a map.
#pragma once

#include <cstdint>

namespace lowtide::io {

struct CacheCount {
  std::uint64_t cached_pages = 0, dirty_pages = 0, writeback_pages = 0;
};
// False where the kernel has no cachestat (before 6.5) or the file system does not tell (overlayfs). bytes == 0 means to the end of the
// file.
bool count_cached(int fd, std::uint64_t offset, std::uint64_t bytes, CacheCount& out);
bool fully_cached(int fd, std::uint64_t offset, std::uint64_t bytes);
void drop_cached(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;
// Waits until the range is on its way to the disk and gone from the cache. 0, or errno.
int write_back_and_drop(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept;

}  // namespace lowtide::io
