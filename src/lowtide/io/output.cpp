#include "lowtide/io/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "lowtide/base/fault.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/io/descriptors.h"

namespace lowtide::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, int code, const std::string& path) {
  throw IoError(fmt::format("{} {}: {}", what, path, std::strerror(code)), code, path);
}

// 0, or errno; a fault plan may speak first.
template <class Call>
int attempt(Call call) {
  if (const int error = fault::at(fault::Stage::call); error > 0) return error;
  return call() == 0 ? 0 : errno;
}

std::string folder_of(const std::string& path) {
  const auto parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

constexpr int most_attempts = 1000;
constexpr std::size_t longest_name_bytes = 200;  // of 255: leaves room for what a hidden name adds

// Where the bytes of `path` are while they have a name of their own; a few of them where several processes save to one target.
std::string hidden_beside(const std::string& path, int attempt) {
  std::string name = fs::path(path).filename().string();
  if (name.size() > longest_name_bytes)
    name = fmt::format("{}-{:016x}", name.substr(0, longest_name_bytes), std::hash<std::string>{}(name));
  return fmt::format("{}/.{}.{}.lowtide-tmp", folder_of(path), name, attempt);
}

// Held from the moment a hidden file may have a name until it has its own: who can have it knows that the maker is gone.
bool lock_as_maker(int fd) { return flock(fd, LOCK_EX | LOCK_NB) == 0; }

bool names(const std::string& path, int fd) {
  struct stat named{};
  struct stat open{};
  return lstat(path.c_str(), &named) == 0 && fstat(fd, &open) == 0 && named.st_dev == open.st_dev &&
         named.st_ino == open.st_ino;
}

// Removes what a killed process left, if that is what it is. False if a living one is at work there.
bool remove_stale(const std::string& hidden) {
  const int fd = DescriptorTable::process().open(hidden, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT;
  const bool stale = lock_as_maker(fd) && names(hidden, fd);
  if (stale) unlink(hidden.c_str());
  ::close(fd);
  return stale;
}

class Folder {
 public:
  explicit Folder(const std::string& path) : fd_(DescriptorTable::process().open(path, O_RDONLY | O_DIRECTORY)) {
    if (fd_ < 0) fail("cannot open the folder", errno, path);
  }
  ~Folder() { ::close(fd_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

OutputFile OutputFile::create(const std::string& path, bool overwrite) {
  refuse_null_bytes(path);
  struct stat s{};
  const bool exists = stat(path.c_str(), &s) == 0;
  // A name that is too long, a loop of links, a folder that may not be entered: known now, before the work.
  if (!exists && errno != ENOENT) fail("cannot create", errno, path);
  std::error_code ignored, failed;
  // Absolute: the file belongs where its name meant when it was begun, whatever chdir() does before commit().
  const std::string target =
      (fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, failed) : fs::absolute(path, failed)).string();
  if (failed) fail("cannot follow", failed.value(), path);
  OutputFile out(target, overwrite);
  mode_t permissions = 0666;
  if (exists && !overwrite) {
    throw IoError(
        fmt::format("{} exists already; pass overwrite=True (--force on the command line) to replace it", path), EEXIST,
        path);
  }
  if (exists && !S_ISREG(s.st_mode))
    throw IoError(fmt::format("{} is not a regular file and is not replaced", path), EINVAL, path);
  if (exists) permissions = s.st_mode & 07777;
  auto& table = DescriptorTable::process();
  int fd = table.open(folder_of(target), O_TMPFILE | O_RDWR, permissions);
  if (fd >= 0) {
    lock_as_maker(fd);
    remove_stale(hidden_beside(target, 0));
  } else if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) {
    fd = out.create_hidden(permissions);
  }
  if (fd < 0) fail("cannot create", errno, path);
  if (exists) fchmod(fd, permissions);  // what open() masked
  out.file_ = File::adopt(fd, target);
  return out;
}

int OutputFile::create_hidden(mode_t permissions) {
  for (int attempt = 0; attempt < most_attempts;) {
    const std::string hidden = hidden_beside(path_, attempt);
    const int fd = DescriptorTable::process().open(hidden, O_RDWR | O_CREAT | O_EXCL, permissions);
    if (fd < 0 && errno != EEXIST) return -1;
    if (fd >= 0) {
      // Between its making and its lock another process may take it for stale.
      if (lock_as_maker(fd) && names(hidden, fd)) {
        temporary_ = hidden;
        return fd;
      }
      ::close(fd);
    } else if (remove_stale(hidden)) {
      continue;
    }
    ++attempt;
  }
  errno = EEXIST;
  return -1;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      overwrite_(other.overwrite_),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)) {}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() noexcept {
  if (!temporary_.empty() && made_.here()) unlink(temporary_.c_str());  // a forked child's copy is the parent's file
  temporary_.clear();
  file_.reset();
}

void OutputFile::reserve(std::uint64_t bytes) {
  if (bytes == 0) return;
  const int error = attempt([&] { return fallocate(file_->fd(), 0, 0, static_cast<off_t>(bytes)); });
  if (error == 0) return;
  if (error == EOPNOTSUPP || error == ENOSYS) {  // nothing is reserved, but writes in place need the length
    if (file_->size_bytes() < bytes) file_->resize(bytes);
    return;
  }
  throw IoError(fmt::format("cannot reserve {} for {}: {}", format_bytes(bytes), path_, std::strerror(error)), error,
                path_);
}

void OutputFile::commit(std::uint64_t bytes) {
  if (named_) fail("an earlier sync failed: cannot sync the folder of", EIO, path_);  // the kernel tells it once
  file_->resize(bytes);
  file_->sync();
  const Folder folder(folder_of(path_));  // before the name appears: running out of descriptors must leave nothing
  give_name();
  if (!temporary_.empty()) {
    const int error = attempt([&] { return rename(temporary_.c_str(), path_.c_str()); });
    if (error != 0) fail("cannot rename to", error, path_);
    temporary_.clear();
  }
  named_ = true;
  if (const int error = attempt([&] { return fsync(folder.fd()); }); error != 0) {
    if (!overwrite_)
      unlink(path_.c_str());  // a name that was not there before; one that was now names the new file, whole
    fail("cannot sync the folder of", error, path_);
  }
  file_.reset();
}

// Links an unnamed file: straight to the target where nothing may be replaced (the kernel refuses if something is there), and to a
// hidden name that is then renamed over the target otherwise.
void OutputFile::give_name() {
  if (!temporary_.empty()) {
    if (!overwrite_ && access(path_.c_str(), F_OK) == 0) fail("cannot create", EEXIST, path_);
    return;
  }
  const std::string self = fmt::format("/proc/self/fd/{}", file_->fd());
  for (int tries = 0;; ++tries) {
    const std::string name = overwrite_ ? hidden_beside(path_, tries) : path_;
    const auto link = [&] { return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW); };
    int error = attempt(link);
    if (error == EEXIST && overwrite_ && remove_stale(name)) error = attempt(link);
    if (error == EEXIST && overwrite_ && tries < most_attempts) continue;
    if (error != 0) fail("cannot create", error, path_);
    if (overwrite_) temporary_ = name;
    return;
  }
}

}  // namespace lowtide::io
