// Which files a tree has open or mapped, and how much of each the page cache holds.
//
//   FileCache cache;
//   std::vector<FileSample> files = cache.look(pids);     // largest first
//
// A file stays known after it is closed: its pages do. Not thread-safe. Blocks: no; cachestat(2) is O(cached pages), mincore(2) stands in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lowtide/doctor/timeline/sample.h"

namespace lowtide::doctor {

// Bytes of a file in the page cache; nothing where it cannot be opened or the kernel does not tell.
std::uint64_t cached_bytes(const std::string& path);

class FileCache {
 public:
  explicit FileCache(std::string proc = "/proc") : proc_(std::move(proc)) {}
  std::vector<FileSample> look(const std::vector<int>& pids);
  // Files in /dev/shm that are there now and were not when this was made, and unlinked ones that the tree has open.
  std::uint64_t new_shm_bytes(const std::vector<int>& pids);

 private:
  void find_open(int pid);
  std::string proc_;
  std::map<std::string, std::uint64_t> known_;       // path → size when last seen
  std::map<std::string, std::uint64_t> shm_before_;  // name → allocated bytes
  bool shm_listed_ = false;
};

}  // namespace lowtide::doctor
