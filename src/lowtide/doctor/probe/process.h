// One process, and the tree below one, as /proc shows them.
//
//   Tree tree(pid);
//   for (const ProcessSample& p : tree.look()) …       // the root first; processes come and go between looks
//
// A process stays in the tree when its parent dies first. Not thread-safe. Blocks: no; smaps_rollup costs about 10 µs a resident MiB.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/doctor/timeline/sample.h"

namespace lowtide::doctor {

// Nothing where the process is gone, or a zombie. `exact` says whether smaps_rollup is wanted.
std::optional<ProcessSample> look_at_process(int pid, bool exact, const std::string& proc = "/proc");

class Tree {
 public:
  explicit Tree(int root, std::string proc = "/proc") : root_(root), proc_(std::move(proc)) {}
  std::vector<ProcessSample> look(int without = 0);  // `without`: a child that is not followed
  std::vector<int> pids() const;                     // as of the last look
  std::size_t seen_count() const { return seen_count_; }

 private:
  int root_;
  std::string proc_;
  std::map<int, std::uint64_t> known_;  // pid → start_ticks
  std::size_t seen_count_ = 0;
};

}  // namespace lowtide::doctor
