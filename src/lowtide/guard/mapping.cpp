#include "lowtide/guard/mapping.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "lowtide/error.h"
#include "lowtide/io/descriptors.h"
#include "lowtide/io/page_cache.h"

namespace lowtide::guard {
namespace {

struct Pages {
  std::byte* start;
  std::size_t bytes;
};
Pages pages_of(const Mapping& mapping) {
  const auto address = reinterpret_cast<std::uintptr_t>(mapping.address);
  const std::uintptr_t first = address / io::direct_align * io::direct_align;
  const std::uintptr_t last = (address + mapping.bytes + io::direct_align - 1) / io::direct_align * io::direct_align;
  return {reinterpret_cast<std::byte*>(first), last - first};
}

// Where cachestat(2) does not tell. Slower, and all of it for a file that is not ours to write: the kernel hides what others read.
std::uint64_t resident_by_mincore(const Pages& pages) {
  constexpr std::size_t step = 4096;  // pages
  std::array<unsigned char, step> flags;
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < pages.bytes; at += step * io::direct_align) {
    const std::size_t bytes = std::min(step * io::direct_align, pages.bytes - at);
    if (mincore(pages.start + at, bytes, flags.data()) != 0) return count * io::direct_align;
    count += static_cast<std::uint64_t>(std::count_if(flags.begin(), flags.begin() + bytes / io::direct_align,
                                                      [](unsigned char flag) { return (flag & 1) != 0; }));
  }
  return count * io::direct_align;
}

// What the kernel has at an address.
struct Region {
  bool found = false, shared = false;
  std::uint64_t inode = 0;
};

Region region_at(std::uintptr_t address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char dash = 0;
    std::string permissions, offset, device;
    Region region{true, false, 0};
    fields >> std::hex >> begin >> dash >> end >> permissions >> offset >> device >> std::dec >> region.inode;
    if (address < begin || address >= end) continue;
    region.shared = permissions.size() > 3 && permissions[3] == 's';
    return region;
  }
  return {};
}

[[noreturn]] void fail(const char* what, const std::string& path, int code) {
  throw IoError(fmt::format("{} {}: {}", what, path, std::strerror(code)), code, path);
}

}  // namespace

void check_shared(const Mapping& mapping) {
  const Region region = region_at(reinterpret_cast<std::uintptr_t>(mapping.address));
  if (!region.found) throw std::invalid_argument(fmt::format("{} is not mapped any more", mapping.path));
  if (!region.shared) {
    throw UnsupportedError(fmt::format(
        "the map of {} is private (mode \"c\"): giving back its pages would discard what was changed in it. "
        "Map it with mode \"r\" or \"r+\"",
        mapping.path));
  }
  struct stat s{};
  if (stat(mapping.path.c_str(), &s) != 0) fail("cannot stat", mapping.path, errno);
  if (s.st_ino != region.inode)
    throw DataChangedError(
        fmt::format("{} was replaced by another file since it was mapped. Map it again.", mapping.path));
}

MappedFile::MappedFile(Mapping mapping) : mapping_(std::move(mapping)) {
  check_shared(mapping_);
  fd_ = io::DescriptorTable::process().open(mapping_.path, O_RDONLY);
  if (fd_ < 0) fail("cannot open", mapping_.path, errno);
}

MappedFile::~MappedFile() { ::close(fd_); }

std::uint64_t MappedFile::cached_bytes() const {
  io::CacheCount count;
  if (!io::count_cached(fd_, mapping_.file_offset, mapping_.bytes, count))
    return resident_by_mincore(pages_of(mapping_));
  return count.cached_pages * io::direct_align;
}

void MappedFile::release() const {
  const auto [start, bytes] = pages_of(mapping_);
  const int error = msync(start, bytes, MS_SYNC) == 0 ? 0 : errno;
  if (error != 0 && error != EINVAL) fail("cannot write back", mapping_.path, error);
  // MADV_PAGEOUT leaves most pages (2,066 of 8,195 gone on 6.18); unmapping them first lets the page cache drop all.
  madvise(start, bytes, MADV_DONTNEED);
  // What others wrote is dirty too, and msync() does nothing for a map that is not writable.
  const int failed = io::write_back_and_drop(fd_, mapping_.file_offset, mapping_.bytes);
  if (failed != 0) fail("cannot write back", mapping_.path, failed);
}

void MappedFile::expect_random(bool yes) const {
  const auto [start, bytes] = pages_of(mapping_);
  madvise(start, bytes, yes ? MADV_RANDOM : MADV_NORMAL);
}

std::uint64_t release_mapping(const Mapping& mapping) {
  const MappedFile file(mapping);
  const std::uint64_t before = file.cached_bytes();
  file.release();
  const std::uint64_t after = file.cached_bytes();
  return before > after ? before - after : 0;
}

}  // namespace lowtide::guard
