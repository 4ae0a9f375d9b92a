#include "lowtide/io/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "lowtide/base/fork.h"
#include "lowtide/io/fault.h"

namespace lowtide::io {

DescriptorTable& DescriptorTable::process() {
  return one_for_process<DescriptorTable>([] { return new DescriptorTable; });
}

void DescriptorTable::lock_for_fork() {
  mutex_.lock();
  for (auto& [inode, weak] : own_writes_) {
    if (auto shared = weak.lock()) forking_.push_back(std::move(shared));
  }
  for (const auto& shared : forking_) shared->mutex.lock();
}

void DescriptorTable::unlock_after_fork(bool /*in_child*/) {
  for (const auto& shared : forking_) shared->mutex.unlock();
  forking_.clear();
  mutex_.unlock();
}

int DescriptorTable::open(const std::string& path, int flags, mode_t permissions) {
  if (holds_half()) close_longest_idle();
  while (true) {
    if (const int error = fault::at(fault::Stage::call); error > 0) {
      errno = error;
      return -1;
    }
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, permissions);
    if (fd >= 0 || (errno != EMFILE && errno != ENFILE)) return fd;
    const int refusal = errno;
    if (!close_longest_idle()) {
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

bool DescriptorTable::close_longest_idle() {
  // Outlives the lock: the last reference may be ours, and ~File takes the lock.
  std::vector<std::shared_ptr<File>> seen;
  File* idle = nullptr;
  const std::lock_guard lock(mutex_);
  for (auto& [pointer, weak] : files_) {
    if (auto file = weak.lock()) seen.push_back(std::move(file));
  }
  for (const auto& file : seen) {
    if (file->pins_ > 0 || file->fd_ < 0 || file->adopted_) continue;
    if (idle == nullptr || file->last_use_ < idle->last_use_) idle = file.get();
  }
  if (idle == nullptr) return false;
  idle->close_descriptors();
  return true;
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
