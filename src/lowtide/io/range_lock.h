// Bytes of a file that one process at a time reads, changes and writes back.
//
//   RangeLock lock(file);
//   lock.take(begin, end);                    // waits for other processes; what was taken before is given back
//   … read the units that are shared, change our part, write them …
//   lock.give_back();                         // also when it is destroyed
//
// Direct IO writes whole units, so two writers of neighbouring rows write the unit between them both. The lock is advisory and
// belongs to this object (an open file description of its own, so that children of fork() do not share it): it orders writers that take
// it, not other programs. Where a file system has no locks, it does nothing.
//
// Not thread-safe. Blocks: take(), in slices that let Ctrl-C through. REQUIRES: the file is pinned while this lives.
#pragma once

#include <cstdint>

#include "lowtide/io/file.h"

namespace lowtide::io {

class RangeLock {
 public:
  explicit RangeLock(File& file) : file_(file) {}
  ~RangeLock();
  RangeLock(const RangeLock&) = delete;
  RangeLock& operator=(const RangeLock&) = delete;

  void take(std::uint64_t begin, std::uint64_t end);
  void give_back() noexcept;

 private:
  int descriptor();

  File& file_;
  int own_fd_ = -1;
  bool taken_ = false;
};

}  // namespace lowtide::io
