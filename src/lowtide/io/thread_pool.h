// A few threads for calls that block and for copies worth sharing: started when needed, forgotten by a forked child.
//
//   ThreadPool::process().add([=] { … });                       // runs some time; nothing in it may throw
//   ThreadPool::process().share(3, [&] { while (take_a_part()) … });   // here and on up to 3 threads; returns when all are done
//
// Thread-safe. Blocks: share(), for the parts that other threads have begun.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace lowtide::io {

class ThreadPool {
 public:
  static ThreadPool& process();

  // Where no thread can be started (RLIMIT_NPROC, RLIMIT_AS) the work is done by the caller: slower, not dead.
  void add(std::function<void()> work);
  void share(std::size_t helpers, const std::function<void()>& work);

  bool try_lock_for_fork();
  void unlock_after_fork(bool in_child);

 private:
  void start_thread();
  void work();

  std::mutex mutex_;
  std::condition_variable some_;
  std::deque<std::function<void()>> jobs_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
};

// What this process may use: LOWTIDE_THREADS, else its affinity, no more than its cgroup's CPU quota. At least 1.
std::size_t usable_threads();

}  // namespace lowtide::io
