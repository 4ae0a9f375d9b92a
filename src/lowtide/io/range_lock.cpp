#include "lowtide/io/range_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "lowtide/base/interrupt.h"
#include "lowtide/io/descriptors.h"

namespace lowtide::io {
namespace {

constexpr std::chrono::microseconds first_wait{20};
constexpr std::chrono::microseconds longest_wait{2000};

int set_lock(int fd, short type, std::uint64_t begin, std::uint64_t end) {
  struct flock range{};  // l_pid must be 0 for locks of an open file description
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(begin);
  range.l_len = static_cast<off_t>(end - begin);
  return fcntl(fd, F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

}  // namespace

RangeLock::~RangeLock() {
  give_back();
  if (own_fd_ >= 0) ::close(own_fd_);
}

int RangeLock::descriptor() {
  if (own_fd_ < 0) own_fd_ = DescriptorTable::process().open(fmt::format("/proc/self/fd/{}", file_.fd()), O_RDWR);
  return own_fd_ >= 0 ? own_fd_ : file_.fd();  // without /proc: shared with children only
}

void RangeLock::take(std::uint64_t begin, std::uint64_t end) {
  give_back();
  for (auto wait = first_wait;; wait = std::min(2 * wait, longest_wait)) {
    const int error = set_lock(descriptor(), F_WRLCK, begin, end);
    taken_ = error == 0;
    if (error != EAGAIN && error != EACCES && error != EINTR) return;
    std::this_thread::sleep_for(wait);
    interrupt_point();
  }
}

void RangeLock::give_back() noexcept {
  if (!taken_) return;
  set_lock(own_fd_ >= 0 ? own_fd_ : file_.fd(), F_UNLCK, 0, 0);  // length 0: to the end, wherever that is
  taken_ = false;
}

}  // namespace lowtide::io
