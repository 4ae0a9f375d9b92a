#include "lowtide/io/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <string>

#include "lowtide/base/fork.h"
#include "lowtide/base/interrupt.h"

namespace lowtide::io {
namespace {

constexpr std::size_t thread_limit = 16;
constexpr std::size_t stack_bytes = 128 * 1024;

// One share() call: helpers that come too late find it closed.
struct Shared {
  std::mutex mutex;
  std::condition_variable ended;
  const std::function<void()>* work = nullptr;
  std::size_t running = 0;
  bool closed = false;

  void help() {
    {
      const std::lock_guard lock(mutex);
      if (closed) return;
      ++running;
    }
    (*work)();
    const std::lock_guard lock(mutex);
    --running;
    ended.notify_one();
  }
};

double quota_cores() {
  double quota = 0;
  double period = 0;
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  if (v2 >> quota >> period && period > 0) return quota / period;
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (v1_quota >> quota && v1_period >> period && quota > 0 && period > 0) return quota / period;
  return 1e9;
}

std::size_t count_usable_threads() {
  if (const char* text = std::getenv("LOWTIDE_THREADS"); text != nullptr) {
    if (const long n = std::strtol(text, nullptr, 10); n > 0) return static_cast<std::size_t>(n);
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  const int affine = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return static_cast<std::size_t>(std::max(1.0, std::min<double>(affine, quota_cores() + 0.5)));
}

}  // namespace

std::size_t usable_threads() {
  static const std::size_t count = count_usable_threads();
  return count;
}

ThreadPool& ThreadPool::process() {
  return one_for_process<ThreadPool>(ForkRank::threads, [] { return new ThreadPool; });
}

void ThreadPool::add(std::function<void()> job) {
  {
    std::unique_lock lock(mutex_);
    if (idle_ <= jobs_.size() && threads_ < thread_limit) start_thread();
    if (threads_ == 0) {
      lock.unlock();
      return job();
    }
    jobs_.push_back(std::move(job));
  }
  some_.notify_one();
}

void ThreadPool::share(std::size_t helpers, const std::function<void()>& part) {
  const auto shared = std::make_shared<Shared>();
  shared->work = &part;
  try {
    for (std::size_t i = 0; i < helpers; ++i) add([shared] { shared->help(); });
  } catch (const std::bad_alloc&) {  // fewer helpers, then
  }
  part();
  std::unique_lock lock(shared->mutex);
  shared->closed = true;
  shared->ended.wait(lock, [&] { return shared->running == 0; });
}

void ThreadPool::start_thread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const auto run = [](void* pool) -> void* {
    static_cast<ThreadPool*>(pool)->work();
    return nullptr;
  };
  if (pthread_create(&thread, &attributes, run, this) == 0) ++threads_;
  pthread_attr_destroy(&attributes);
}

void ThreadPool::work() {
  const OwnThread own;
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    some_.wait(lock, [&] { return !jobs_.empty(); });
    --idle_;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

bool ThreadPool::try_lock_for_fork() { return mutex_.try_lock(); }

void ThreadPool::unlock_after_fork(bool in_child) {
  if (in_child) {  // its threads are not here
    threads_ = idle_ = 0;
    jobs_.clear();
    new (&some_) std::condition_variable;
  }
  mutex_.unlock();
}

}  // namespace lowtide::io
