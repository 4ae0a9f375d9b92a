#include "lowtide/memory/available.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "lowtide/base/units.h"

namespace lowtide {
namespace {

std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream in(path);
  std::uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;  // absent, or the word "max"
}

// Page cache that the kernel would drop first is not memory in use.
std::uint64_t inactive_file_bytes(const std::string& stat_path) {
  std::ifstream in(stat_path);
  std::string key;
  std::uint64_t value = 0;
  std::uint64_t plain = 0;
  while (in >> key >> value) {
    if (key == "total_inactive_file") return value;  // v1, descendants included
    if (key == "inactive_file") plain = value;
  }
  return plain;
}

struct Names {
  const char* limit;
  const char* usage;
};
constexpr Names v1{"memory.limit_in_bytes", "memory.usage_in_bytes"};
constexpr Names v2{"memory.max", "memory.current"};

void consider_group(const std::string& folder, const Names& names, Available& least) {
  const auto limit = read_number(folder + "/" + names.limit);
  const auto usage = read_number(folder + "/" + names.usage);
  if (!limit || !usage || *limit > (std::uint64_t{1} << 60)) return;  // v1 says "no limit" with a number near 2^63
  const std::uint64_t in_use = *usage - std::min(*usage, inactive_file_bytes(folder + "/memory.stat"));
  const std::uint64_t left = *limit > in_use ? *limit - in_use : 0;
  if (left < least.bytes) least = {left, fmt::format("cgroup limit {}", format_bytes(*limit))};
}

void consider_ancestry(const std::string& root, std::string path, const Names& names, Available& least) {
  while (true) {
    consider_group(root + path, names, least);
    if (path.empty() || path == "/") return;
    path.erase(path.find_last_of('/'));
  }
}

}  // namespace

Available available_memory(const std::string& proc, const std::string& cgroup_root) {
  Available least{std::numeric_limits<std::uint64_t>::max(), "no limit found"};
  std::ifstream meminfo(proc + "/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    if (!line.starts_with("MemAvailable:")) continue;
    std::istringstream fields(line.substr(line.find(':') + 1));
    std::uint64_t kib = 0;
    if (fields >> kib) least = {kib * 1024, "machine"};
  }
  std::ifstream groups(proc + "/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "4:memory:/path" in v1, "0::/path" in v2
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.find("memory") != std::string_view::npos)
      consider_ancestry(cgroup_root + "/memory", path, v1, least);
    if (controllers.empty()) consider_ancestry(cgroup_root, path, v2, least);
  }
  return least;
}

}  // namespace lowtide
