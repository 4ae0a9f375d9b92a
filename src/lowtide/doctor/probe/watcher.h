// Looks at a tree at intervals that grow with the run, and keeps what it sees in a timeline.
//
//   Watcher watcher({.pid = child, .agent_folder = folder, .timeline_path = "run.timeline"});
//   while (child_runs) { watcher.look(); sleep_s(watcher.interval_s()); }
//   const Timeline& seen = watcher.timeline();
//
// Looks are close together at first (up to a tenth of one core in the first 20 s) and rarer later. Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "lowtide/doctor/probe/cgroup.h"
#include "lowtide/doctor/probe/device.h"
#include "lowtide/doctor/probe/file_cache.h"
#include "lowtide/doctor/probe/process.h"
#include "lowtide/doctor/timeline/timeline.h"

namespace lowtide::doctor {

struct WatchOptions {
  int pid = 0;
  int without = 0;  // a child that is not part of the tree
  std::string command = {};
  std::string agent_folder = {};   // where watched processes write what they know; empty: they were not prepared
  std::string timeline_path = {};  // empty: only in memory
  double shortest_interval_s = 0.05;
};

class Watcher {
 public:
  explicit Watcher(WatchOptions options);
  bool look();  // false: nothing of the tree is left
  void step();
  void end(int exit_status);
  double interval_s() const { return interval_s_; }
  const Timeline& timeline() const { return timeline_; }
  Timeline& timeline() { return timeline_; }
  bool refused() const { return refused_; }  // the process is not ours to look at

 private:
  void read_agents();
  WatchOptions options_;
  Tree tree_;
  Cgroup cgroup_;
  FileCache files_;
  DeviceProbe device_;
  Timeline timeline_;
  std::unique_ptr<TimelineFile> file_;
  std::map<std::string, std::uint64_t> agent_offsets_;
  std::vector<FileSample> last_files_;
  double interval_s_, started_s_ = 0, files_due_s_ = 0;
  bool refused_ = false;
};

double monotonic_s();

}  // namespace lowtide::doctor
