#include "lowtide/io/mapping.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "lowtide/error.h"
#include "lowtide/io/descriptors.h"
#include "lowtide/io/page_cache.h"

namespace lowtide::io {
namespace {

// Long enough to cost nothing, short enough that a disk brings in little in between (5 GiB/s for 5 ms: 25 MiB).
constexpr std::chrono::milliseconds poll_interval{5};
constexpr int asking_share = 20;  // asking takes no more than a twentieth of the time

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : fd_(DescriptorTable::process().open(path, O_RDONLY)) {
    if (fd_ < 0) throw IoError(fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno, path);
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Pages {
  std::byte* start;
  std::size_t bytes;
};
Pages pages_of(const Mapping& mapping) {
  const auto address = reinterpret_cast<std::uintptr_t>(mapping.address);
  const std::uintptr_t first = address / direct_align * direct_align;
  const std::uintptr_t last = (address + mapping.bytes + direct_align - 1) / direct_align * direct_align;
  return {reinterpret_cast<std::byte*>(first), last - first};
}

// Where cachestat(2) does not tell. Slower, and all of it for a file that is not ours to write: the kernel hides what others read.
std::uint64_t resident_by_mincore(const Pages& pages) {
  constexpr std::size_t step = 4096;  // pages
  std::array<unsigned char, step> flags;
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < pages.bytes; at += step * direct_align) {
    const std::size_t bytes = std::min(step * direct_align, pages.bytes - at);
    if (mincore(pages.start + at, bytes, flags.data()) != 0) return count * direct_align;
    count += static_cast<std::uint64_t>(std::count_if(flags.begin(), flags.begin() + bytes / direct_align,
                                                      [](unsigned char flag) { return (flag & 1) != 0; }));
  }
  return count * direct_align;
}

std::uint64_t cached_bytes(int fd, const Mapping& mapping) {
  CacheCount count;
  if (!count_cached(fd, mapping.file_offset, mapping.bytes, count)) return resident_by_mincore(pages_of(mapping));
  return count.cached_pages * direct_align;
}

void release(int fd, const Mapping& mapping) {
  const auto [start, bytes] = pages_of(mapping);
  const int error = msync(start, bytes, MS_SYNC) == 0 ? 0 : errno;
  if (error != 0 && error != EINVAL)
    throw IoError(fmt::format("cannot write back {}: {}", mapping.path, std::strerror(error)), error, mapping.path);
  // MADV_PAGEOUT leaves most pages (2,066 of 8,195 gone on 6.18); unmapping them first lets the page cache drop all.
  madvise(start, bytes, MADV_DONTNEED);
  // What others wrote is dirty too, and msync() does nothing for a map that is not writable.
  if (const int failed = write_back_and_drop(fd, mapping.file_offset, mapping.bytes); failed != 0)
    throw IoError(fmt::format("cannot write back {}: {}", mapping.path, std::strerror(failed)), failed, mapping.path);
}

}  // namespace

std::uint64_t resident_bytes(const Mapping& mapping) {
  const Descriptor file(mapping.path);
  return cached_bytes(file.get(), mapping);
}

std::uint64_t release_mapping(const Mapping& mapping) {
  const Descriptor file(mapping.path);
  const std::uint64_t before = cached_bytes(file.get(), mapping);
  release(file.get(), mapping);
  const std::uint64_t after = cached_bytes(file.get(), mapping);
  return before > after ? before - after : 0;
}

struct MappingGuard::Shared {
  Shared(Mapping m, std::uint64_t limit) : mapping(std::move(m)), limit_bytes(limit), file(mapping.path) {}
  Mapping mapping;
  std::uint64_t limit_bytes;
  Descriptor file;
  std::mutex mutex;
  std::condition_variable stopped;
  bool stop = false;
  std::atomic<std::uint64_t> released_bytes{0};

  void watch() {
    std::unique_lock lock(mutex);
    while (!stop) {
      const auto asked = std::chrono::steady_clock::now();
      const std::uint64_t cached = cached_bytes(file.get(), mapping);
      const auto answered = std::chrono::steady_clock::now();
      if (cached > limit_bytes) {
        try {
          release(file.get(), mapping);  // under the lock: stop() returns only when no release is under way
          released_bytes += cached;
        } catch (const Error&) {
          return;  // the disk refuses write-back: the owner will meet the same error in flush()
        }
      }
      stopped.wait_for(lock, std::max<std::chrono::nanoseconds>(poll_interval, asking_share * (answered - asked)));
    }
  }
};

MappingGuard::MappingGuard(Mapping mapping, std::uint64_t limit_bytes)
    : shared_(std::make_shared<Shared>(std::move(mapping), limit_bytes)) {
  std::thread([shared = shared_] { shared->watch(); }).detach();
}

MappingGuard::~MappingGuard() { stop(); }

void MappingGuard::stop() {
  const std::lock_guard lock(shared_->mutex);
  shared_->stop = true;
  shared_->stopped.notify_all();
}

std::uint64_t MappingGuard::released_bytes() const { return shared_->released_bytes; }

}  // namespace lowtide::io
