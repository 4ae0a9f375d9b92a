#include "lowtide/io/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "lowtide/base/fault.h"
#include "lowtide/base/fork.h"

namespace lowtide::io {

DescriptorTable& DescriptorTable::process() {
  return one_for_process<DescriptorTable>(ForkRank::descriptors, [] { return new DescriptorTable; });
}

bool DescriptorTable::try_lock_for_fork() {
  if (!mutex_.try_lock()) return false;
  for (auto& [inode, weak] : own_writes_) {
    if (auto shared = weak.lock()) forking_.push_back(std::move(shared));
  }
  for (const auto& shared : forking_) shared->mutex.lock();  // held for a moment, by threads that want nothing else
  return true;
}

void DescriptorTable::unlock_after_fork(bool in_child) {
  for (const auto& shared : forking_) {
    if (in_child && !shared->writing.taken()) shared->writers = 0;  // the parent's
    shared->mutex.unlock();
  }
  forking_.clear();
  mutex_.unlock();
}

int DescriptorTable::open(const std::string& path, int flags, mode_t permissions) {
  if (holds_half() && !raise_limit()) close_longest_idle();
  while (true) {
    if (const int error = fault::at(fault::Stage::call); error > 0) {
      errno = error;
      return -1;
    }
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, permissions);
    if (fd >= 0 || (errno != EMFILE && errno != ENFILE)) return fd;
    const int refusal = errno;
    if (!(refusal == EMFILE && raise_limit()) && !close_longest_idle()) {
      errno = refusal;
      return -1;
    }
  }
}

void DescriptorTable::add(const std::shared_ptr<File>& file) {
  const std::lock_guard lock(mutex_);
  file->last_use_ = ++clock_;
  files_.emplace(file.get(), file);
}

void DescriptorTable::remove(File* file) {
  const std::lock_guard lock(mutex_);
  files_.erase(file);
}

// The rest of the process needs descriptors too, and cannot ask us for ours.
bool DescriptorTable::holds_half() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  const std::lock_guard lock(mutex_);
  if (files_.size() < limit.rlim_cur / 2) return false;
  const auto is_open = [](const auto& entry) { return entry.first->fd_ >= 0; };
  return static_cast<rlim_t>(std::count_if(files_.begin(), files_.end(), is_open)) >= limit.rlim_cur / 2;
}

// Where reading a thousand shards in turn would open each of them anew. Only when needed: a program that waits with select() cannot
// have descriptors above 1024.
bool DescriptorTable::raise_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, std::max<rlim_t>(2 * limit.rlim_cur, 4096));
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

bool DescriptorTable::close_longest_idle() {
  // Outlives the lock: the last reference may be ours, and ~File takes the lock.
  std::vector<std::shared_ptr<File>> seen;
  const std::lock_guard lock(mutex_);
  for (auto& [pointer, weak] : files_) {
    if (auto file = weak.lock()) seen.push_back(std::move(file));
  }
  std::sort(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a->last_use_ < b->last_use_; });
  for (const auto& file : seen) {
    if (file->pins_ > 0 || file->fd_ < 0 || !file->can_be_reopened()) continue;
    file->close_descriptors();
    return true;
  }
  return false;
}

void DescriptorTable::pin(File& file) {
  bool closed;
  {
    const std::lock_guard lock(mutex_);
    ++file.pins_;
    file.last_use_ = ++clock_;
    closed = file.fd_ < 0;
  }
  if (!closed) return;
  try {
    file.reopen();
  } catch (...) {
    unpin(file);
    throw;
  }
}

void DescriptorTable::unpin(File& file) noexcept {
  const std::lock_guard lock(mutex_);
  --file.pins_;
}

std::vector<std::shared_ptr<File>> DescriptorTable::files() {
  std::vector<std::shared_ptr<File>> out;
  const std::lock_guard lock(mutex_);
  for (auto& [pointer, weak] : files_) {
    if (auto file = weak.lock()) out.push_back(std::move(file));
  }
  return out;
}

std::shared_ptr<OwnWrites> DescriptorTable::own_writes(const Stamp& inode) {
  const std::lock_guard lock(mutex_);
  std::erase_if(own_writes_, [](const auto& entry) { return entry.second.expired(); });
  auto& known = own_writes_[{inode.device, inode.inode}];
  auto shared = known.lock();
  if (!shared) known = shared = std::make_shared<OwnWrites>();
  return shared;
}

}  // namespace lowtide::io
