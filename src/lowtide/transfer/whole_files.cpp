#include "lowtide/transfer/whole_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "lowtide/base/units.h"
#include "lowtide/io/descriptors.h"
#include "lowtide/io/page_cache.h"
#include "lowtide/io/thread_pool.h"
#include "lowtide/transfer/warm_maps.h"

namespace lowtide {
namespace {

constexpr std::size_t request_bytes = 256_KiB;   // evict() waits for no more than one
constexpr std::uint64_t left_free_share = 8;     // of the limit: results should not drive a file out at once
constexpr std::uint64_t bookkeeping_share = 64;  // the kernel's own memory about cached pages
constexpr std::uint64_t longer_each_time = 4;
constexpr int most_passes = 4;

bool same(const io::Stamp& a, const io::Stamp& b) { return a.same_file(b) && a.size_bytes == b.size_bytes; }

std::int64_t now_ns() { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

WholeFiles& WholeFiles::process() {
  return one_for_process<WholeFiles>(ForkRank::whole_files, [] {
    auto* made = new WholeFiles;
    Budget::process().add_evictable(made);
    return made;
  });
}

WholeFiles::Entry& WholeFiles::entry_of(const io::Stamp& file) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return same(e.stamp, file); });
  if (found == entries_.end()) {
    // One that is kept stays: it gives its bytes back by evict() alone.
    if (entries_.size() >= most_count && !entries_.back().kept) entries_.pop_back();
    entries_.push_front({file, 0, enough_at_first, nullptr});
  } else if (found != entries_.begin()) {
    std::rotate(entries_.begin(), found, found + 1);
  }
  return entries_.front();
}

void WholeFiles::note(io::File& file) {
  const io::Stamp stamp = file.stamp();
  std::shared_ptr<Kept> kept;
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entry_of(stamp);
    if (entry.kept || ++entry.reads < entry.enough) return;
    entry.reads = 0;
    kept = admitted(file);
    if (!kept) {
      entry.enough *= longer_each_time;
      return;
    }
    entry.kept = kept;
  }
  // Not the file's own descriptor: that may be closed to save descriptors, and is direct.
  const int fd = io::DescriptorTable::process().open(fmt::format("/proc/self/fd/{}", file.fd()), O_RDONLY);
  io::ThreadPool::process().add([kept, fd, caller = std::this_thread::get_id()] {
    // Where no thread can be had the pool has the caller do the work, who wants its own read.
    if (fd >= 0 && std::this_thread::get_id() != caller) bring_in(*kept, fd);
    if (fd >= 0) ::close(fd);
  });
}

std::shared_ptr<WholeFiles::Kept> WholeFiles::admitted(io::File& file) {
  Budget& budget = Budget::process();
  const io::Stamp stamp = file.stamp();
  const std::uint64_t bytes = stamp.size_bytes + stamp.size_bytes / bookkeeping_share + request_bytes;
  if (budget.spare_bytes() < bytes + budget.limit_bytes() / left_free_share) return nullptr;
  Lease lease = budget.try_take(bytes, Purpose::cache);
  if (!lease) return nullptr;
  auto kept = std::make_shared<Kept>();
  kept->path = file.absolute_path();
  kept->stamp = stamp;
  kept->lease = std::move(lease);
  return kept;
}

void WholeFiles::bring_in(Kept& kept, int fd) {
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  std::vector<std::byte> memory(request_bytes);
  // In modes that drop what they have read, reads meanwhile leave holes; a pass over what is there costs little.
  for (int pass = 0; pass < most_passes && !(pass > 0 && io::fully_cached(fd, 0, kept.stamp.size_bytes)); ++pass) {
    for (std::uint64_t at = 0; at < kept.stamp.size_bytes;) {
      const std::lock_guard lock(kept.reading);
      if (kept.stopped) return;
      const ssize_t n = pread(fd, memory.data(), memory.size(), static_cast<off_t>(at));
      if (n <= 0) return;  // nobody asked for it: the read that does says what is wrong
      at += static_cast<std::uint64_t>(n);
    }
  }
  kept.whole = true;
}

bool WholeFiles::holds(io::File& file) {
  const io::Stamp stamp = file.stamp();
  std::shared_ptr<Kept> kept;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& e) { return e.kept && e.kept->whole && same(e.stamp, stamp); });
    if (found == entries_.end()) return false;
    kept = found->kept;
  }
  const std::int64_t before = now_ns();
  if (before < kept->ask_again_ns) return true;
  if (file.wholly_cached()) {
    const std::int64_t after = now_ns();
    kept->ask_again_ns = after + 20 * (after - before);
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    for (Entry& entry : entries_) {
      if (entry.kept != kept) continue;
      entry.kept.reset();
      entry.enough *= longer_each_time;
    }
  }
  drop(*kept);
  return false;
}

std::uint64_t WholeFiles::evict(std::uint64_t bytes) {
  std::vector<std::shared_ptr<Kept>> given_up;
  std::uint64_t freed = 0;
  {
    const std::lock_guard lock(mutex_);
    for (auto entry = entries_.rbegin(); entry != entries_.rend() && freed < bytes; ++entry) {
      if (!entry->kept) continue;
      freed += entry->kept->lease.bytes();
      given_up.push_back(std::move(entry->kept));
      entry->enough *= longer_each_time;
    }
  }
  freed = 0;
  for (const auto& kept : given_up) freed += drop(*kept);
  return freed;
}

std::uint64_t WholeFiles::drop(Kept& kept) {
  kept.stopped = true;
  const std::lock_guard lock(kept.reading);
  WarmMaps::process().forget(kept.stamp);  // what is mapped is not dropped
  const int fd = io::DescriptorTable::process().open(kept.path, O_RDONLY);
  struct stat s{};
  if (fd >= 0 && fstat(fd, &s) == 0 && io::stamp_of(s).same_file(kept.stamp))
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  if (fd >= 0) ::close(fd);
  const std::uint64_t bytes = kept.lease.bytes();
  kept.lease.release();
  return bytes;
}

// A child has neither the thread that reads nor, perhaps, a lock that can be taken; the pages are the parent's.
void WholeFiles::unlock_after_fork(bool in_child) {
  std::deque<Entry> parents;
  if (in_child) parents.swap(entries_);
  mutex_.unlock();
  for (Entry& entry : parents) {
    if (!entry.kept) continue;
    entry.kept->lease.release();
    new std::shared_ptr<Kept>(std::move(entry.kept));
  }
}

}  // namespace lowtide
