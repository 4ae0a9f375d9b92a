#include "lowtide/io/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstdio>

#include "lowtide/base/fault.h"
#include "lowtide/io/file.h"

namespace lowtide::io {
namespace {

// Whether the kernel is older than STATX_DIOALIGN (6.1): there no file system states its unit.
bool before_dioalign() {
  utsname kernel{};
  int major = 0;
  int minor = 0;
  if (uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) return false;
  return major < 6 || (major == 6 && minor < 1);
}

// Takes O_DIRECT and means memory.
bool is_memory(int fd) {
  struct statfs s{};
  return fstatfs(fd, &s) == 0 && (s.f_type == TMPFS_MAGIC || s.f_type == RAMFS_MAGIC || s.f_type == HUGETLBFS_MAGIC);
}

}  // namespace

std::size_t direct_unit(int fd, std::string& refusal) {
  struct statx s{};
  const bool answered = fault::at(fault::Stage::call) <= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) == 0;
  const bool stated = answered && (s.stx_mask & STATX_DIOALIGN) != 0;
  if (!stated && before_dioalign() && !is_memory(fd)) return direct_align;  // the probe that follows is a real read
  if (stated && s.stx_dio_offset_align > 0) {
    const std::size_t unit = std::max<std::size_t>({512, s.stx_dio_offset_align, s.stx_dio_mem_align});
    if (unit <= direct_align) return unit;
    refusal = fmt::format("direct IO there needs units of {} bytes", unit);
  } else {
    refusal = stated          ? "the file system has no direct IO for this file"
              : is_memory(fd) ? "the file system is in memory"
                              : "the file system does not say how to do direct IO";
  }
  return 0;
}

std::uint64_t spill_bytes(int fd) {
  struct statfs s{};
  if (fstatfs(fd, &s) != 0) return 0;
  switch (s.f_type) {
    case BTRFS_SUPER_MAGIC:
      return 128 * 1024;
    case SQUASHFS_MAGIC:
      return 1024 * 1024;
    case EROFS_SUPER_MAGIC_V1:
      return 16 * 1024 * 1024;  // a compressed piece of 1 MiB may unpack to 12
    default:
      return 0;
  }
}

}  // namespace lowtide::io
