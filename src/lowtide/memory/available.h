// How much memory this process could still get: the least of what its cgroups (v1 and v2, every ancestor) and the machine have left.
//
//   Available a = available_memory();     // a.bytes, a.source == "cgroup limit 1.0 GiB"
//
// Thread-safe. Reads a few files under /proc and /sys/fs/cgroup.
#pragma once

#include <cstdint>
#include <string>

namespace lowtide {

struct Available {
  std::uint64_t bytes = 0;
  std::string source;
};
// `proc` and `cgroup_root` are where a test puts its own files.
Available available_memory(const std::string& proc = "/proc", const std::string& cgroup_root = "/sys/fs/cgroup");

}  // namespace lowtide
