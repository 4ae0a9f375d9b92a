// Which files are open in this process, and who gives up a descriptor when there are no more.
//
//   int fd = DescriptorTable::process().open(path, O_RDONLY | O_CLOEXEC);   // closes idle ones when there are too many
//
// Thread-safe. Lock order: the table's lock is taken before any of a File's.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lowtide/io/file.h"

namespace lowtide::io {

class DescriptorTable {
 public:
  static DescriptorTable& process();

  int open(const std::string& path, int flags, mode_t permissions = 0);  // -1 and errno

  void add(const std::shared_ptr<File>& file);
  void remove(File* file);
  void pin(File& file);  // opens its descriptors again if they were given up
  void unpin(File& file) noexcept;
  std::vector<std::shared_ptr<File>> files();
  std::shared_ptr<OwnWrites> own_writes(const Stamp& inode);

  bool try_lock_for_fork();
  void unlock_after_fork(bool in_child);

 private:
  bool close_longest_idle();
  static bool raise_limit();  // false if it is as high as it may be
  bool holds_half();          // of the descriptors that this process may have

  std::mutex mutex_;
  std::map<File*, std::weak_ptr<File>> files_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<OwnWrites>> own_writes_;  // by device and inode
  std::uint64_t clock_ = 0;
  std::vector<std::shared_ptr<OwnWrites>> forking_;  // whose locks are held across a fork
};

}  // namespace lowtide::io
