// Files that fit what the budget has to spare, brought into the page cache as a whole once reads jump about in them: from then on every
// read of them is a copy out of memory (WarmMaps).
//
//   WholeFiles::process().note(file);                     // a small read at a place that nothing foretold, which the disk has served
//   if (WholeFiles::process().holds(file)) …              // all of it is in, and paid for (Purpose::cache)
//
// A file is known by its inode, so that a program that opens it again for each batch counts as one. It is read front to back on a thread
// of the pool, at the speed of the disk. Whoever needs the bytes gets them at once: the pages are dropped, and it takes four times as
// many reads until the file is tried again.
//
// Thread-safe. Blocks: evict(), for one request of the thread that reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "lowtide/base/fork.h"
#include "lowtide/io/file.h"
#include "lowtide/memory/budget.h"

namespace lowtide {

class WholeFiles final : public Evictable, public LockedAcrossFork {
 public:
  static WholeFiles& process();
  void note(io::File& file);  // REQUIRES: the file is pinned
  // The kernel, which may have taken pages back, is asked seldom enough that asking costs a twentieth of the time. REQUIRES: the
  // file is pinned.
  bool holds(io::File& file);
  std::uint64_t evict(std::uint64_t bytes) override;
  void unlock_after_fork(bool in_child);

 private:
  // One file on its way in, or in.
  struct Kept {
    std::string path;
    io::Stamp stamp;
    Lease lease;
    std::mutex reading;  // held during each request
    std::atomic<bool> stopped{false}, whole{false};
    std::atomic<std::int64_t> ask_again_ns{0};
  };
  struct Entry {
    io::Stamp stamp;
    std::uint64_t reads = 0;
    std::uint64_t enough;  // reads, for the file to be brought in
    std::shared_ptr<Kept> kept;
  };
  static constexpr std::size_t most_count = 64;
  static constexpr std::uint64_t enough_at_first = 64;

  Entry& entry_of(const io::Stamp& file);          // REQUIRES: lock held
  std::shared_ptr<Kept> admitted(io::File& file);  // nullptr where it does not fit
  static void bring_in(Kept& kept, int fd);
  static std::uint64_t drop(Kept& kept);

  std::deque<Entry> entries_;  // latest first
};

}  // namespace lowtide
