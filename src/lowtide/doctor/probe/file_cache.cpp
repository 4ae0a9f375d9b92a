#include "lowtide/doctor/probe/file_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <sstream>

#include "lowtide/base/units.h"
#include "lowtide/doctor/probe/text_file.h"

namespace lowtide::doctor {
namespace {

constexpr std::uint64_t smallest_file_bytes = 1_MiB;
constexpr std::size_t most_known = 4096, most_reported = 24;
constexpr const char* shm_folder = "/dev/shm";

struct CachestatRange {
  std::uint64_t offset, length;
};
struct Cachestat {
  std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
};
constexpr long cachestat_number = 451;

std::uint64_t by_mincore(int fd, std::uint64_t size) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  constexpr std::uint64_t window = 256_MiB;
  std::vector<unsigned char> present(window / page);
  std::uint64_t cached = 0;
  for (std::uint64_t at = 0; at < size; at += window) {
    const std::uint64_t length = std::min(window, size - at);
    void* map = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(at));
    if (map == MAP_FAILED) break;
    if (mincore(map, length, present.data()) == 0) {
      const auto pages = static_cast<std::ptrdiff_t>((length + page - 1) / page);
      cached += page * static_cast<std::uint64_t>(
                           std::count_if(present.begin(), present.begin() + pages, [](auto flag) { return flag & 1; }));
    }
    munmap(map, length);
  }
  return std::min(cached, size);
}

std::map<std::string, std::uint64_t> shm_files() {
  std::map<std::string, std::uint64_t> files;
  std::error_code error;
  namespace fs = std::filesystem;
  for (fs::recursive_directory_iterator at(shm_folder, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end && files.size() < most_known; at.increment(error)) {
    struct stat s{};
    if (lstat(at->path().c_str(), &s) == 0 && S_ISREG(s.st_mode))
      files[at->path()] = static_cast<std::uint64_t>(s.st_blocks) * 512;
  }
  return files;
}

// Resident bytes of each mapped file, shared pages divided: smaps is walked once, and only for its header and Pss lines.
void mapped_files(const std::string& smaps, std::map<std::string, std::uint64_t>& out) {
  std::istringstream lines(smaps);
  std::string path;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Pss:")) {
      if (!path.empty()) out[path] += field_bytes(line, "Pss");
    } else if (!line.empty() &&
               (std::isdigit(static_cast<unsigned char>(line[0])) != 0 || (line[0] >= 'a' && line[0] <= 'f'))) {
      const std::size_t slash = line.find(" /");
      path = slash == std::string::npos ? "" : line.substr(slash + 1);
      if (path.starts_with("/dev/") || path.starts_with("/memfd:")) path.clear();
    }
  }
}

}  // namespace

std::uint64_t cached_bytes(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0) return 0;
  struct stat s{};
  std::uint64_t bytes = 0;
  if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0) {
    const auto size = static_cast<std::uint64_t>(s.st_size);
    CachestatRange range{0, 0};
    Cachestat count{};
    if (syscall(cachestat_number, fd, &range, &count, 0) == 0)
      bytes = std::min(count.cached * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)), size);
    else
      bytes = by_mincore(fd, size);
  }
  close(fd);
  return bytes;
}

void FileCache::find_open(int pid) {
  const std::string folder = fmt::format("{}/{}/fd", proc_, pid);
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return;
  std::array<char, 4096> target;
  while (const dirent* entry = readdir(dir)) {
    if (known_.size() >= most_known) break;
    const ssize_t length = readlinkat(dirfd(dir), entry->d_name, target.data(), target.size());
    if (length <= 0 || target[0] != '/') continue;
    const std::string path(target.data(), static_cast<std::size_t>(length));
    if (path.starts_with("/dev/") || path.starts_with("/proc/") || path.ends_with(" (deleted)")) continue;
    struct stat s{};
    if (stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) &&
        static_cast<std::uint64_t>(s.st_size) >= smallest_file_bytes)
      known_[path] = static_cast<std::uint64_t>(s.st_size);
  }
  closedir(dir);
}

std::vector<FileSample> FileCache::look(const std::vector<int>& pids) {
  std::map<std::string, std::uint64_t> mapped;
  for (const int pid : pids) {
    find_open(pid);
    if (const auto smaps = read_text(fmt::format("{}/{}/smaps", proc_, pid))) mapped_files(*smaps, mapped);
  }
  for (const auto& [path, bytes] : mapped) {
    if (bytes >= smallest_file_bytes && known_.size() < most_known) known_.emplace(path, bytes);
  }
  std::vector<FileSample> files;
  for (const auto& [path, size] : known_) {
    const auto at = mapped.find(path);
    const std::uint64_t mapped_bytes = at == mapped.end() ? 0 : at->second;
    const std::uint64_t cached = std::max(cached_bytes(path), mapped_bytes);
    if (cached >= smallest_file_bytes) files.push_back({path, cached, mapped_bytes});
  }
  std::sort(files.begin(), files.end(), [](const FileSample& a, const FileSample& b) { return a.cached > b.cached; });
  if (files.size() > most_reported) files.resize(most_reported);
  return files;
}

std::uint64_t FileCache::new_shm_bytes(const std::vector<int>& pids) {
  const auto now = shm_files();
  if (!shm_listed_) {
    shm_before_ = now;
    shm_listed_ = true;
  }
  std::uint64_t bytes = 0;
  for (const auto& [name, size] : now) {
    const auto before = shm_before_.find(name);
    const std::uint64_t old = before == shm_before_.end() ? 0 : before->second;
    bytes += size - std::min(size, old);
  }
  std::set<std::pair<dev_t, ino_t>> unlinked;
  for (const int pid : pids) {
    const std::string folder = fmt::format("{}/{}/fd", proc_, pid);
    DIR* dir = opendir(folder.c_str());
    if (dir == nullptr) continue;
    std::array<char, 512> target;
    while (const dirent* entry = readdir(dir)) {
      const ssize_t length = readlinkat(dirfd(dir), entry->d_name, target.data(), target.size());
      if (length <= 0) continue;
      const std::string path(target.data(), static_cast<std::size_t>(length));
      struct stat s{};
      if ((path.starts_with("/dev/shm/") || path.starts_with("/memfd:")) && path.ends_with(" (deleted)") &&
          fstatat(dirfd(dir), entry->d_name, &s, 0) == 0 && unlinked.emplace(s.st_dev, s.st_ino).second)
        bytes += static_cast<std::uint64_t>(s.st_blocks) * 512;
    }
    closedir(dir);
  }
  return bytes;
}

}  // namespace lowtide::doctor
