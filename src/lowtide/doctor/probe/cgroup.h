// The memory cgroup of a process, versions 1 and 2.
//
//   Cgroup group = Cgroup::of(pid);
//   CgroupSample s = group.look(tree_pids);         // s.own: nobody else is charged there
//
// Thread-safe: each call reads anew.
#pragma once

#include <string>
#include <vector>

#include "lowtide/doctor/timeline/sample.h"

namespace lowtide::doctor {

class Cgroup {
 public:
  // Absent (look() says present = false) where the process has none that can be read.
  static Cgroup of(int pid, const std::string& proc = "/proc", const std::string& root = "/sys/fs/cgroup");
  // A child group of this process's own for a tree that is about to start; absent where that is not allowed.
  static Cgroup make_child(const std::string& name);
  CgroupSample look(const std::vector<int>& tree) const;
  bool add(int pid) const;
  void remove() const;  // the folder, if it is empty
  const std::string& folder() const { return folder_; }
  int version() const { return version_; }

 private:
  std::string folder_;  // empty: absent
  int version_ = 0;
};

}  // namespace lowtide::doctor
