#include "lowtide/io/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/io/descriptors.h"
#include "lowtide/io/fault.h"

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

std::string hidden_beside(const std::string& path) {
  const fs::path target(path);
  return fmt::format("{}/.{}.{:08x}.lowtide-tmp", folder_of(path), target.filename().string(), std::random_device{}());
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
  std::error_code ignored;
  const std::string target = fs::is_symlink(path, ignored) ? fs::weakly_canonical(path, ignored).string() : path;
  OutputFile out(target, overwrite);
  struct stat s{};
  mode_t permissions = 0666;
  const bool exists = stat(target.c_str(), &s) == 0;
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
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    out.temporary_ = hidden_beside(target);
    fd = table.open(out.temporary_, O_RDWR | O_CREAT | O_EXCL, permissions);
  }
  if (fd < 0) {
    out.temporary_.clear();
    fail("cannot create", errno, path);
  }
  if (exists) fchmod(fd, permissions);  // what open() masked
  out.file_ = File::adopt(fd, target);
  return out;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      overwrite_(other.overwrite_),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)) {}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() noexcept {
  if (!temporary_.empty()) unlink(temporary_.c_str());
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
  const std::string name = overwrite_ ? hidden_beside(path_) : path_;
  const int error = attempt([&] { return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW); });
  if (error != 0) fail("cannot create", error, path_);
  if (overwrite_) temporary_ = name;
}

}  // namespace lowtide::io
