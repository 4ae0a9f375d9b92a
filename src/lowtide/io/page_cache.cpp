#include "lowtide/io/page_cache.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "lowtide/io/file.h"

#ifndef __NR_cachestat
#define __NR_cachestat 451  // Linux 6.5; older headers lack it
#endif

namespace lowtide::io {
namespace {

struct Range {
  std::uint64_t offset, length;
};
struct KernelCounts {
  std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

// fadvise leaves pages alone that a range covers only in part.
Range whole_pages(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t first = offset / direct_align * direct_align;
  const std::uint64_t last = (offset + bytes + direct_align - 1) / direct_align * direct_align;
  return {first, last - first};
}

// Overlayfs keeps pages with the file of the layer below. What looks at a descriptor's own pages (cachestat, sync_file_range) finds none
// there and reports success; fdatasync, fadvise and maps reach them.
bool pages_are_below(int fd) {
  struct statfs s{};
  return fstatfs(fd, &s) == 0 && s.f_type == OVERLAYFS_SUPER_MAGIC;
}

int write_back(int fd, const Range& pages) {
  if (pages_are_below(fd)) return fdatasync(fd);
  const unsigned flags = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  return sync_file_range(fd, static_cast<off_t>(pages.offset), static_cast<off_t>(pages.length), flags);
}

}  // namespace

bool count_cached(int fd, std::uint64_t offset, std::uint64_t bytes, CacheCount& out) {
  Range range{offset, bytes};
  KernelCounts counts{};
  if (syscall(__NR_cachestat, fd, &range, &counts, 0) != 0) return false;
  if (counts.cached == 0 && pages_are_below(fd)) return false;
  out = {counts.cached, counts.dirty, counts.writeback};
  return true;
}

bool fully_cached(int fd, std::uint64_t offset, std::uint64_t bytes) {
  CacheCount count;
  const Range pages = whole_pages(offset, bytes);
  return count_cached(fd, pages.offset, pages.length, count) && count.cached_pages >= pages.length / direct_align;
}

void drop_cached(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const Range pages = whole_pages(offset, bytes);
  posix_fadvise(fd, static_cast<off_t>(pages.offset), static_cast<off_t>(pages.length), POSIX_FADV_DONTNEED);
}

int write_back_and_drop(int fd, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const Range pages = whole_pages(offset, bytes);
  const int error = write_back(fd, pages) != 0 ? errno : 0;
  drop_cached(fd, offset, bytes);
  // tmpfs and friends cannot write back, and have nothing to.
  return error == ESPIPE || error == EINVAL || error == EOPNOTSUPP ? 0 : error;
}

}  // namespace lowtide::io
