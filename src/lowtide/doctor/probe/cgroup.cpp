#include "lowtide/doctor/probe/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "lowtide/doctor/probe/text_file.h"

namespace lowtide::doctor {
namespace {

constexpr std::uint64_t no_limit_v1 = 1ULL << 60;  // "unlimited" is 2^63 less a page

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

// In a container the group's path is one outside it, and its files are at the root of the mount.
std::string existing(const std::string& mount, const std::string& path, const char* file) {
  for (std::string at = path; !at.empty(); at = at.substr(0, at.rfind('/'))) {
    if (at == "/") break;
    if (exists(mount + at + "/" + file)) return mount + at;
    if (at.rfind('/') == std::string::npos) break;
  }
  return exists(mount + "/" + file) ? mount : "";
}

std::uint64_t number_in(const std::string& path) {
  const auto text = read_text(path);
  return text ? leading_number(*text).value_or(0) : 0;
}

bool only_these(const std::string& procs, const std::vector<int>& tree) {
  std::istringstream lines(procs);
  int pid = 0;
  bool any = false;
  while (lines >> pid) {
    any = true;
    if (pid != getpid() && std::find(tree.begin(), tree.end(), pid) == tree.end()) return false;
  }
  return any;
}

double some_pressure(const std::string& text) {
  const std::size_t at = text.find("avg10=");
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + 6, nullptr);
}

}  // namespace

Cgroup Cgroup::of(int pid, const std::string& proc, const std::string& root) {
  Cgroup group;
  const auto text = read_text(fmt::format("{}/{}/cgroup", proc, pid));
  if (!text) return group;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      path = line.substr(second + 1);
    if (controllers.find(",memory,") != std::string::npos) {
      group.folder_ = existing(root + "/memory", path, "memory.usage_in_bytes");
      if (!group.folder_.empty()) {
        group.version_ = 1;
        return group;
      }
    } else if (controllers == ",,") {
      for (const char* mount : {"", "/unified"}) {
        if (!group.folder_.empty()) break;
        group.folder_ = existing(root + mount, path, "memory.current");
        group.version_ = 2;
      }
    }
  }
  return group;
}

Cgroup Cgroup::make_child(const std::string& name) {
  Cgroup group = of(getpid());
  if (group.folder_.empty()) return group;
  group.folder_ += "/" + name;
  const bool made = mkdir(group.folder_.c_str(), 0755) == 0;
  if (made && exists(group.folder_ + (group.version_ == 1 ? "/memory.usage_in_bytes" : "/memory.current")))
    return group;
  if (made) rmdir(group.folder_.c_str());
  return {};
}

bool Cgroup::add(int pid) const {
  const int fd = open((folder_ + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const std::string text = std::to_string(pid);
  const bool added = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(fd);
  return added;
}

void Cgroup::remove() const {
  if (!folder_.empty()) rmdir(folder_.c_str());
}

CgroupSample Cgroup::look(const std::vector<int>& tree) const {
  CgroupSample s;
  const auto stat = folder_.empty() ? std::nullopt : read_text(folder_ + "/memory.stat");
  if (!stat) return s;
  s.present = true;
  s.own = only_these(read_text(folder_ + "/cgroup.procs").value_or(""), tree);
  s.active_file = field_bytes(*stat, version_ == 1 ? "total_active_file" : "active_file");
  if (version_ == 1) {
    s.usage = number_in(folder_ + "/memory.usage_in_bytes");
    const std::uint64_t limit = field_bytes(*stat, "hierarchical_memory_limit");
    s.limit = limit >= no_limit_v1 ? 0 : limit;
    s.anon = field_bytes(*stat, "total_rss");
    s.shmem = field_bytes(*stat, "total_shmem");
    const std::uint64_t cache = field_bytes(*stat, "total_cache");
    s.file = cache - std::min(cache, s.shmem);
    s.kernel = number_in(folder_ + "/memory.kmem.usage_in_bytes");
  } else {
    s.usage = number_in(folder_ + "/memory.current");
    s.limit = number_in(folder_ + "/memory.max");
    s.anon = field_bytes(*stat, "anon");
    s.shmem = field_bytes(*stat, "shmem");
    const std::uint64_t file = field_bytes(*stat, "file");
    s.file = file - std::min(file, s.shmem);
    s.slab = field_bytes(*stat, "slab");
    s.kernel = field_bytes(*stat, "kernel");
    s.oom_kills = field_bytes(read_text(folder_ + "/memory.events").value_or(""), "oom_kill");
    s.pressure = some_pressure(read_text(folder_ + "/memory.pressure").value_or(""));
  }
  return s;
}

}  // namespace lowtide::doctor
