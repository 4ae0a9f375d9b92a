#include "lowtide/io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "lowtide/error.h"
#include "lowtide/io/descriptors.h"
#include "lowtide/io/fault.h"
#include "lowtide/io/page_cache.h"

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080  // Linux 6.14; older headers lack it
#endif

namespace lowtide::io {
namespace {

// The result of a call, or -errno; a fault plan may speak first.
template <class Call>
auto checked(Call call) -> decltype(call()) {
  if (const int error = fault::at(fault::Stage::call); error > 0) return -error;
  const auto result = call();
  return result < 0 ? static_cast<decltype(result)>(-errno) : result;
}

Stamp stamp_of(const struct stat& s) {
  return {s.st_dev, s.st_ino, static_cast<std::uint64_t>(s.st_size),
          s.st_mtim.tv_sec * 1'000'000'000 + s.st_mtim.tv_nsec};
}

std::string proc_path(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

// What direct reads may begin and end on, or 0. tmpfs takes O_DIRECT and means memory: it states no alignment.
std::size_t stated_unit(int fd) {
  struct statx s{};
  const int result = checked([&] { return statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s); });
  if (result != 0 || (s.stx_mask & STATX_DIOALIGN) == 0 || s.stx_dio_offset_align == 0) return 0;
  const std::size_t unit = std::max<std::size_t>({512, s.stx_dio_offset_align, s.stx_dio_mem_align});
  return unit <= direct_align ? unit : 0;
}

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct alignas(direct_align) Page {
  std::byte bytes[head_bytes];
};

// The first bytes by `call`, all that the file has of them: interruptions and short answers are asked again.
template <class Call>
ssize_t read_head(Call call, std::uint64_t file_bytes) {
  const auto wanted = static_cast<ssize_t>(std::min<std::uint64_t>(head_bytes, file_bytes));
  ssize_t n = 0;
  for (int tries = 0; tries < 10; ++tries) {
    n = checked(call);
    if (n >= wanted || (n < 0 && n != -EINTR && n != -EAGAIN)) break;
  }
  return n;
}

void refuse_odd_kinds(const struct stat& s, const std::string& path) {
  if (S_ISDIR(s.st_mode)) throw IoError(fmt::format("{} is a directory, not a file", path), EISDIR, path);
  if (!S_ISREG(s.st_mode))
    throw IoError(fmt::format("{} is not a regular file (a pipe or a device)", path), EINVAL, path);
}

}  // namespace

std::shared_ptr<File> File::open(const std::string& path, Access access) {
  std::shared_ptr<File> file(new File(path, access));
  const int flags = access == Access::read ? O_RDONLY : O_RDWR;
  // Non-blocking, so that a pipe with no writer is refused below rather than waited for.
  file->fd_ = DescriptorTable::process().open(path, flags | O_NONBLOCK);
  if (file->fd_ < 0) file->fail("cannot open", errno, 0);
  struct stat s{};
  if (const int error = checked([&] { return fstat(file->fd_, &s); }); error < 0) file->fail("cannot stat", -error, 0);
  refuse_odd_kinds(s, path);
  file->stamp_ = stamp_of(s);
  file->own_writes_ = DescriptorTable::process().own_writes(file->stamp_);
  file->choose_mode();
  DescriptorTable::process().add(file);
  return file;
}

std::shared_ptr<File> File::adopt(int fd, const std::string& path) {
  std::shared_ptr<File> file(new File(path, Access::read_write));
  file->fd_ = fd;
  file->adopted_ = true;
  file->own_writes_ = std::make_shared<OwnWrites>();
  const auto forced = forced_mode();
  const bool may_be_direct = !forced || is_direct(*forced);
  file->buffered_fd_ = fd;
  file->mode_ = forced == Mode::dontcache ? Mode::dontcache : Mode::buffered;
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  if (may_be_direct && stated_unit(fd) > 0) {
    const int direct = DescriptorTable::process().open(proc_path(fd), O_RDWR | O_DIRECT);
    Page page{};
    // The file is new and empty: a page of zeros at its start is no loss, and shows that direct writes work.
    if (direct >= 0 && pwrite(direct, page.bytes, sizeof page.bytes, 0) == static_cast<ssize_t>(sizeof page.bytes)) {
      file->fd_ = direct;
      file->mode_ = forced != Mode::threads && uring_available() ? Mode::uring : Mode::threads;
    } else if (direct >= 0) {
      ::close(direct);
    }
  }
  DescriptorTable::process().add(file);
  return file;
}

File::~File() {
  DescriptorTable::process().remove(this);
  close_descriptors();
}

void File::close_descriptors() noexcept {
  const int buffered = buffered_fd_.exchange(-1);
  if (buffered >= 0 && buffered != fd_) ::close(buffered);
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void File::choose_mode() {
  const auto forced = forced_mode();
  const Mode first = forced.value_or(Mode::uring);
  if (is_direct(first) && try_direct()) {
    if (first == Mode::threads) {
      mode_ = Mode::threads;
      mode_reason_ = "LOWTIDE_IO=threads";
    } else if (uring_available()) {
      mode_ = Mode::uring;
    } else {
      mode_ = Mode::threads;
      mode_reason_ = uring_refusal();
    }
    return;
  }
  if (forced && !is_direct(*forced)) mode_reason_ = fmt::format("LOWTIDE_IO={}", name(*forced));
  posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM);  // what we ask for is what should be read, no more
  if (first != Mode::buffered && try_dontcache()) {
    mode_ = Mode::dontcache;
  } else {
    mode_ = Mode::buffered;
    read_buffered_head();
  }
  buffered_fd_ = fd_;
}

bool File::try_direct() {
  const std::size_t unit = stated_unit(fd_);
  if (unit == 0) {
    mode_reason_ = "the file system has no direct IO";
    return false;
  }
  const int direct =
      DescriptorTable::process().open(proc_path(fd_), (access_ == Access::read ? O_RDONLY : O_RDWR) | O_DIRECT);
  if (direct < 0) {
    if (errno == EMFILE || errno == ENFILE) fail("cannot open", errno, 0);
    mode_reason_ = fmt::format("O_DIRECT: {}", std::strerror(errno));
    return false;
  }
  Page page;
  const ssize_t n = read_head([&] { return pread(direct, page.bytes, sizeof page.bytes, 0); }, stamp_.size_bytes);
  if (n < 0) {
    ::close(direct);
    if (n != -EINVAL && n != -EOPNOTSUPP) fail("cannot read", static_cast<int>(-n), 0);
    mode_reason_ = fmt::format("O_DIRECT read: {}", std::strerror(static_cast<int>(-n)));
    return false;
  }
  head_.assign(page.bytes, page.bytes + n);
  ::close(fd_);
  fd_ = direct;
  read_unit_ = unit;
  return true;
}

bool File::try_dontcache() {
  Page page;
  iovec vector{page.bytes, sizeof page.bytes};
  const ssize_t n = read_head([&] { return preadv2(fd_, &vector, 1, 0, RWF_DONTCACHE); }, stamp_.size_bytes);
  if (n < 0) {
    if (!mode_reason_.empty()) mode_reason_ += "; ";
    mode_reason_ += fmt::format("RWF_DONTCACHE: {}", std::strerror(static_cast<int>(-n)));
    return false;
  }
  head_.assign(page.bytes, page.bytes + n);
  return true;
}

void File::read_buffered_head() {
  Page page;
  const ssize_t n = read_head(
      [&] {
        const ssize_t got = read(page.bytes, 0, sizeof page.bytes);
        if (got < 0) errno = static_cast<int>(-got);
        return got;
      },
      stamp_.size_bytes);
  if (n < 0) fail("cannot read", static_cast<int>(-n), 0);
  head_.assign(page.bytes, page.bytes + n);
}

void File::reopen() {
  const std::lock_guard once(buffered_mutex_);
  if (fd_ >= 0) return;
  const int flags = (access_ == Access::read ? O_RDONLY : O_RDWR) | (is_direct(mode_) ? O_DIRECT : 0);
  const int fd = DescriptorTable::process().open(path_, flags);
  if (fd < 0) fail("cannot open again", errno, 0);
  if (!is_direct(mode_)) {
    posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    buffered_fd_ = fd;
  }
  fd_ = fd;
}

int File::buffered_fd() {
  if (const int fd = buffered_fd_.load(); fd >= 0) return fd;
  const std::lock_guard lock(buffered_mutex_);
  if (const int fd = buffered_fd_.load(); fd >= 0) return fd;
  const int fd = DescriptorTable::process().open(proc_path(fd_), access_ == Access::read ? O_RDONLY : O_RDWR);
  if (fd < 0) return -1;
  posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
  buffered_fd_ = fd;
  return fd;
}

std::uint64_t File::size_bytes() const {
  if (adopted_) {
    struct stat s{};
    return fstat(fd_, &s) == 0 ? static_cast<std::uint64_t>(s.st_size) : 0;
  }
  const std::lock_guard lock(own_writes_->mutex);
  return stamp_.size_bytes;
}

ssize_t File::read(std::byte* memory, std::uint64_t offset, std::size_t bytes) {
  const auto at = static_cast<off_t>(offset);
  if (is_direct(mode_)) {
    const ssize_t n = pread(fd_, memory, bytes, at);
    return n < 0 ? -errno : n;
  }
  if (mode_ == Mode::dontcache) {
    iovec vector{memory, bytes};
    const ssize_t n = preadv2(fd_, &vector, 1, at, RWF_DONTCACHE);
    return n < 0 ? -errno : n;
  }
  // Cached may mean that another thread's read is about to drop it: what was dropped meanwhile may be ours by now.
  const std::uint64_t drops = own_writes_->drops.load();
  const bool ours = !fully_cached(fd_, offset, bytes);
  const ssize_t n = pread(fd_, memory, bytes, at);
  const int error = errno;
  if (ours || own_writes_->drops.load() != drops) {
    ++own_writes_->drops;
    drop_cached(fd_, offset, bytes);
  }
  return n < 0 ? -error : n;
}

ssize_t File::write(const std::byte* memory, std::uint64_t offset, std::size_t bytes) {
  const auto at = static_cast<off_t>(offset);
  if (is_direct(mode_)) {
    const ssize_t n = pwrite(fd_, memory, bytes, at);
    return n < 0 ? -errno : n;
  }
  const ssize_t n = pwrite(fd_, memory, bytes, at);
  if (n < 0) return -errno;
  // Dirty pages of ours never outlive the request: RWF_DONTCACHE keeps overwritten ones (seen on 6.18).
  if (const int error = write_back_and_drop(fd_, offset, static_cast<std::size_t>(n)); error != 0) return -error;
  return n;
}

ssize_t File::read_cached(std::byte* memory, std::uint64_t offset, std::size_t bytes) {
  const int fd = buffered_fd();
  if (fd < 0) return -errno;
  const ssize_t n = pread(fd, memory, bytes, static_cast<off_t>(offset));
  return n < 0 ? -errno : n;
}

ssize_t File::write_cached(const std::byte* memory, std::uint64_t offset, std::size_t bytes) {
  const int fd = buffered_fd();
  if (fd < 0) return -errno;
  const ssize_t n = pwrite(fd, memory, bytes, static_cast<off_t>(offset));
  if (n < 0) return -errno;
  if (const int error = write_back_and_drop(fd, offset, static_cast<std::size_t>(n)); error != 0) return -error;
  return n;
}

bool File::wholly_cached() {
  const std::int64_t before = monotonic_ns();
  if (before < ask_again_ns_) return wholly_cached_;
  const std::uint64_t bytes = size_bytes();
  const bool cached = bytes > 0 && fully_cached(fd_, 0, bytes);
  const std::int64_t after = monotonic_ns();
  wholly_cached_ = cached;
  ask_again_ns_ = after + 20 * (after - before);
  return cached;
}

bool File::is_cached(std::uint64_t offset, std::uint64_t bytes) {
  // In the other modes what is cached now may be another thread's request, gone in a moment; read() knows how to leave no trace.
  return is_direct(mode_) && fully_cached(fd_, offset, bytes);
}

void File::check_unchanged() const {
  if (adopted_) return;
  const bool being_written = own_writes_->writers > 0;  // asked before the stamp: a writer may end in between
  struct stat s{};
  if (fstat(fd_, &s) != 0) fail("cannot stat", errno, 0);
  const Stamp now = stamp_of(s);
  const std::lock_guard lock(own_writes_->mutex);
  if (now == stamp_) return;
  const bool same_file =
      now.device == stamp_.device && now.inode == stamp_.inode && now.size_bytes == stamp_.size_bytes;
  if (now == own_writes_->after || (being_written && same_file)) return see(now);
  const char* advice = "Open it again to read it as it is now.";
  if (now.device != stamp_.device || now.inode != stamp_.inode) {
    throw DataChangedError(fmt::format("{} was replaced by another file since it was opened. {}", path_, advice));
  }
  if (now.size_bytes != stamp_.size_bytes) {
    throw DataChangedError(fmt::format("{} changed size from {} to {} bytes since it was opened. {}", path_,
                                       stamp_.size_bytes, now.size_bytes, advice));
  }
  throw DataChangedError(fmt::format("{} was written to since it was opened. {}", path_, advice));
}

void File::accept_change() {
  if (adopted_) return;
  struct stat s{};
  if (fstat(fd_, &s) != 0) return;
  const std::lock_guard lock(own_writes_->mutex);
  own_writes_->after = stamp_of(s);
  see(own_writes_->after);
}

void File::end_change() {
  accept_change();
  --own_writes_->writers;
}

void File::follow_changes() {
  struct stat s{};
  if (fstat(fd_, &s) != 0) fail("cannot stat", errno, 0);
  const std::lock_guard lock(own_writes_->mutex);
  if (const Stamp now = stamp_of(s); now != stamp_) see(now);
}

void File::see(const Stamp& now) const {
  stamp_ = now;
  content_id_ = new_content_id();
}

std::uint64_t File::new_content_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void File::sync() {
  if (sync_failed_) fail("an earlier sync failed, so the file may be incomplete: cannot sync", EIO, 0);
  const int error = checked([&] { return fdatasync(fd_); });
  if (error == 0) return;
  sync_failed_ = true;  // the kernel marks the lost pages clean: a second fsync would lie
  fail("cannot sync", -error, 0);
}

void File::resize(std::uint64_t bytes) {
  const int error = checked([&] { return ftruncate(fd_, static_cast<off_t>(bytes)); });
  if (error != 0) fail("cannot resize", -error, bytes);
}

void File::fail(const char* what, int code, std::uint64_t offset) const {
  const std::string where = offset > 0 ? fmt::format(" at byte {}", offset) : "";
  throw IoError(fmt::format("{} {}{}: {}", what, path_, where, std::strerror(code)), code, path_, offset);
}

File::Pin::Pin(File& file) : file_(&file) { DescriptorTable::process().pin(file); }
File::Pin::~Pin() {
  if (file_ != nullptr) DescriptorTable::process().unpin(*file_);
}

std::vector<std::shared_ptr<File>> File::all_open() { return DescriptorTable::process().files(); }

}  // namespace lowtide::io
