// Linked into tests under AddressSanitizer: they fork while all other threads sleep.
//
// The runtime of gcc 12 does not lock its allocator around fork(), as malloc does: a child of a fork in the moment in which another thread
// starts, ends or allocates inherits a lock that nobody gives back.
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int most_looks = 300;  // of a millisecond: threads that never sleep are not waited for
constexpr int looks_at_rest = 3;

bool runs(const char* task) {
  char path[64], text[512];
  std::snprintf(path, sizeof path, "/proc/self/task/%s/stat", task);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = '\0';
  const char* name_end = std::strrchr(text, ')');
  return name_end != nullptr && name_end[1] != '\0' && name_end[2] == 'R';
}

bool another_runs() {
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return false;
  bool any = false;
  while (const dirent* task = readdir(tasks))
    any = any || (task->d_name[0] != '.' && std::atoi(task->d_name) != gettid() && runs(task->d_name));
  closedir(tasks);
  return any;
}

void wait_for_rest() {
  for (int look = 0, at_rest = 0; look < most_looks && at_rest < looks_at_rest; ++look) {
    at_rest = another_runs() ? 0 : at_rest + 1;
    const timespec pause{0, 1'000'000};
    if (at_rest == 0) nanosleep(&pause, nullptr);
  }
}

// Before anybody else, so that it is the last to be called: when the library's own locks are held, and whoever wants one sleeps.
[[gnu::constructor(101)]] void wait_before_each_fork() { pthread_atfork(wait_for_rest, nullptr, nullptr); }

}  // namespace
