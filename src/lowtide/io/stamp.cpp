#include "lowtide/io/stamp.h"

#include <fmt/format.h>

#include "lowtide/error.h"

namespace lowtide::io {
namespace {

std::int64_t nanoseconds(const timespec& t) { return t.tv_sec * 1'000'000'000 + t.tv_nsec; }

}  // namespace

Stamp stamp_of(const struct stat& s) {
  return {s.st_dev, s.st_ino, static_cast<std::uint64_t>(s.st_size), nanoseconds(s.st_mtim), nanoseconds(s.st_ctim)};
}

void refuse_change(const std::string& path, const Stamp& then, const Stamp& now) {
  const char* advice = "Open it again to read it as it is now.";
  if (!now.same_file(then)) {
    throw DataChangedError(fmt::format("{} was replaced by another file since it was opened. {}", path, advice));
  }
  if (now.size_bytes != then.size_bytes) {
    throw DataChangedError(fmt::format("{} changed size from {} to {} bytes since it was opened. {}", path,
                                       then.size_bytes, now.size_bytes, advice));
  }
  throw DataChangedError(fmt::format("{} was written to since it was opened. {}", path, advice));
}

}  // namespace lowtide::io
