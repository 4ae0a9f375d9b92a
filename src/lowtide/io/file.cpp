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
#include <filesystem>
#include <stdexcept>

#include "lowtide/base/fault.h"
#include "lowtide/error.h"
#include "lowtide/io/descriptors.h"
#include "lowtide/io/file_system.h"
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

std::string proc_path(int fd) { return fmt::format("/proc/self/fd/{}", fd); }

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

// What we ask for is what should be read, no more. 0, or errno where a sandbox forbids the call, and with it dropping pages.
int advise_random(int fd) { return posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); }

void refuse_odd_kinds(const struct stat& s, const std::string& path) {
  if (S_ISDIR(s.st_mode)) throw IoError(fmt::format("{} is a directory, not a file", path), EISDIR, path);
  if (!S_ISREG(s.st_mode))
    throw IoError(fmt::format("{} is not a regular file (a pipe or a device)", path), EINVAL, path);
}

}  // namespace

File::File(std::string path, Access access) : path_(std::move(path)), access_(access), content_id_(new_content_id()) {
  std::error_code no_folder;  // a working folder that was removed
  absolute_path_ = std::filesystem::absolute(path_, no_folder).string();
  if (no_folder) absolute_path_ = path_;
}

void refuse_null_bytes(const std::string& path) {
  if (path.find('\0') != std::string::npos) throw std::invalid_argument("embedded null byte in the path");
}

std::shared_ptr<File> File::open(const std::string& path, Access access) {
  refuse_null_bytes(path);
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
  const int unadvised = advise_random(fd);
  if (std::string refusal; may_be_direct && direct_unit(fd, refusal) > 0) {
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
  if (unadvised != 0 && !is_direct(file->mode_)) file->refuse_without_advice(unadvised);
  DescriptorTable::process().add(file);
  return file;
}

File::~File() {
  DescriptorTable::process().remove(this);
  close_descriptors();
}

void File::close_descriptors() noexcept {
  const int buffered = buffered_fd_.exchange(-1);
  const int fd = fd_.exchange(-1);
  if (buffered >= 0 && buffered != fd) ::close(buffered);
  if (fd >= 0) ::close(fd);
}

void File::choose_mode() {
  spill_bytes_ = spill_bytes(fd_);
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
  const int unadvised = advise_random(fd_);
  const bool drops_itself = first != Mode::buffered && try_dontcache();
  // Writes are dropped by advice in either mode.
  if (unadvised != 0 && (!drops_itself || access_ == Access::read_write)) refuse_without_advice(unadvised);
  mode_ = drops_itself ? Mode::dontcache : Mode::buffered;
  if (!drops_itself) read_buffered_head();
  buffered_fd_ = fd_.load();
}

void File::refuse_without_advice(int error) const {
  throw IoError(
      fmt::format(
          "{} can only be had through the page cache here ({}), and posix_fadvise, which gives that memory back, "
          "is forbidden: {}. Allow fadvise64 in the sandbox, or use a disk with direct IO",
          path_, mode_reason_.empty() ? "no direct IO" : mode_reason_, std::strerror(error)),
      error, path_);
}

bool File::try_direct() {
  const std::size_t unit = direct_unit(fd_, mode_reason_);
  if (unit == 0) return false;
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
  if (direct_reads_are_cached(direct)) {
    ::close(direct);
    mode_reason_ = "direct reads of this file go through the page cache (it is compressed)";
    return false;
  }
  head_.assign(page.bytes, page.bytes + n);
  ::close(fd_);
  fd_ = direct;
  read_unit_ = unit;
  return true;
}

// Btrfs reads what it has compressed through the page cache, O_DIRECT or not, and says nothing. Asked in a few places: a header may be
// stored plainly before data that is not.
bool File::direct_reads_are_cached(int direct) const {
  if (spill_bytes_ == 0) return false;
  constexpr int places = 8;
  Page page;
  for (int i = 0; i < places; ++i) {
    const std::uint64_t offset = stamp_.size_bytes / places * i / direct_align * direct_align;
    if (fully_cached(direct, offset, direct_align)) continue;  // by somebody else: this place says nothing
    if (pread(direct, page.bytes, sizeof page.bytes, static_cast<off_t>(offset)) <= 0) continue;
    if (!fully_cached(direct, offset, direct_align)) continue;
    drop_spill(offset, direct_align);
    return true;
  }
  return false;
}

void File::drop_spill(std::uint64_t offset, std::size_t bytes) const {
  if (spill_bytes_ == 0) return;
  const std::uint64_t begin = offset > spill_bytes_ ? offset - spill_bytes_ : 0;
  drop_cached(fd_, begin, offset + bytes + spill_bytes_ - begin);
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
  const Turn::Held once = opening_.take("opening " + path_);
  if (fd_ >= 0) return;
  const int flags = (access_ == Access::read ? O_RDONLY : O_RDWR) | (is_direct(mode_) ? O_DIRECT : 0);
  const int fd = DescriptorTable::process().open(absolute_path_, flags);
  if (fd < 0) fail("cannot open again", errno, 0);
  struct stat s{};
  if (fstat(fd, &s) != 0 || !stamp_of(s).same_file(stamp())) {
    ::close(fd);
    refuse_change(path_, stamp(), stamp_of(s));
  }
  if (!is_direct(mode_)) {
    advise_random(fd);
    buffered_fd_ = fd;
  }
  fd_ = fd;
}

int File::buffered_fd() {
  if (const int fd = buffered_fd_.load(); fd >= 0) return fd;
  const Turn::Held once = opening_.take("opening " + path_);
  if (const int fd = buffered_fd_.load(); fd >= 0) return fd;
  const int fd = DescriptorTable::process().open(proc_path(fd_), access_ == Access::read ? O_RDONLY : O_RDWR);
  if (fd < 0) return -1;
  advise_random(fd);
  buffered_fd_ = fd;
  return fd;
}

Stamp File::stamp() const {
  const std::lock_guard lock(own_writes_->mutex);
  return stamp_;
}

std::uint64_t File::size_bytes() const {
  if (adopted_) {
    struct stat s{};
    return fstat(fd_, &s) == 0 ? static_cast<std::uint64_t>(s.st_size) : 0;
  }
  return stamp().size_bytes;
}

ssize_t File::read(std::byte* memory, std::uint64_t offset, std::size_t bytes) {
  const auto at = static_cast<off_t>(offset);
  if (is_direct(mode_)) {
    const ssize_t n = pread(fd_, memory, bytes, at);
    return n < 0 ? -errno : n;
  }
  if (mode_ == Mode::dontcache && spill_bytes_ == 0) {
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
    drop_spill(offset, bytes);
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
  const bool same_size = now.same_file(stamp_) && now.size_bytes == stamp_.size_bytes;
  // Whoever writes in place shares the file with other writers.
  const bool may_be_written = being_written || access_ == Access::read_write;
  if (now == own_writes_->after || (may_be_written && same_size)) return see(now);
  refuse_change(path_, stamp_, now);
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

bool File::stamp_tells() const {
  constexpr std::int64_t tick_ns = 20'000'000;  // twice the longest tick there is (HZ=100)
  const std::int64_t now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  const std::lock_guard lock(own_writes_->mutex);
  return stamp_.mtime_ns + tick_ns < now;
}

bool File::can_be_reopened() const {
  struct stat named{};
  struct stat open{};
  return !adopted_ && stat(absolute_path_.c_str(), &named) == 0 && fstat(fd_, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
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
