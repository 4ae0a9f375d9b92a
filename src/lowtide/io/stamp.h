// Tells one state of a file from another.
//
//   const Stamp then = stamp_of(s);                          // struct stat
//   if (now != then) refuse_change(path, then, now);         // DataChangedError: what changed, and what to do
//
// Plain data.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace lowtide::io {

struct Stamp {
  std::uint64_t device = 0, inode = 0, size_bytes = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;  // for other processes: within one, a rename or a chmod is no change
  bool same_file(const Stamp& other) const { return device == other.device && inode == other.inode; }
  bool operator==(const Stamp& other) const {
    return same_file(other) && size_bytes == other.size_bytes && mtime_ns == other.mtime_ns;
  }
};

Stamp stamp_of(const struct stat& s);
[[noreturn]] void refuse_change(const std::string& path, const Stamp& then, const Stamp& now);

}  // namespace lowtide::io
