// Keeps somebody else's mapping under a limit, in the background.
//
//   MappingGuard guard({address, bytes, path, file_offset}, 512_MiB);
//
// A thread looks at what is cached of the file, more often the faster it grows, and gives everything back before the limit is reached
// at that rate. Pages that come in faster than a thread wakes up go over it: some milliseconds of the disk's speed. Where little of what
// comes in is touched (random access with read-ahead), the kernel is told to read single pages, and asked again later whether that
// is still so.
//
// The mapping must stay mapped until stop() has returned or the guard is gone: the caller holds it.
//
// Thread-safe. Blocks: stop(), for a release under way.
#pragma once

#include <cstdint>
#include <memory>

#include "lowtide/base/fork.h"
#include "lowtide/guard/mapping.h"

namespace lowtide::guard {

class MappingGuard {
 public:
  MappingGuard(Mapping mapping, std::uint64_t limit_bytes);  // throws as check_shared
  ~MappingGuard();
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;

  void stop();                           // in a forked child, which has not the thread, nothing
  std::uint64_t released_bytes() const;  // since the start

 private:
  struct Shared;
  MadeHere made_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace lowtide::guard
