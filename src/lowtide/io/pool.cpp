// The thread-pool backend: the same requests as synchronous calls, for sandboxes without io_uring and file systems without direct IO.
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "lowtide/base/fork.h"
#include "lowtide/io/queue.h"

namespace lowtide::io {
namespace {

constexpr std::size_t thread_limit = 16;
constexpr std::size_t stack_bytes = 128 * 1024;

// Where a queue's finished requests wait; shared, because a thread may still hold it when the queue is gone.
struct Finished {
  std::mutex mutex;
  std::condition_variable some;
  std::vector<Backend::Done> done;
};

struct Job {
  std::shared_ptr<Finished> finished;
  std::uint32_t slot;
  Backend::Op op;
};

class Pool {
 public:
  static Pool& process() {
    static Pool* const pool = [] {
      auto* made = new Pool;
      on_fork({.before = [] { process().mutex_.lock(); },
               .parent = [] { process().mutex_.unlock(); },
               .child = [] { process().forget_threads(); }});
      return made;
    }();
    return *pool;
  }

  void add(Job job) {
    {
      std::unique_lock lock(mutex_);
      if (idle_ <= jobs_.size() && threads_ < thread_limit) start_thread();
      if (threads_ == 0) {  // none to be had (RLIMIT_NPROC, RLIMIT_AS): slower, not dead
        lock.unlock();
        return run(job);
      }
      jobs_.push_back(std::move(job));
    }
    some_.notify_one();
  }

 private:
  void start_thread() {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_t thread;
    const int error = pthread_create(
        &thread, &attributes,
        [](void* pool) -> void* {
          static_cast<Pool*>(pool)->work();
          return nullptr;
        },
        this);
    pthread_attr_destroy(&attributes);
    if (error == 0) ++threads_;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      some_.wait(lock, [&] { return !jobs_.empty(); });
      --idle_;
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      run(job);
      lock.lock();
    }
  }

  static void run(Job& job) {
    const Backend::Op& op = job.op;
    const ssize_t result = op.kind == Request::Kind::read ? op.file->read(op.memory, op.offset, op.bytes)
                                                          : op.file->write(op.memory, op.offset, op.bytes);
    {
      const std::lock_guard lock(job.finished->mutex);
      job.finished->done.push_back({job.slot, result});
    }
    job.finished->some.notify_one();
    job.finished.reset();
  }

  void forget_threads() {
    threads_ = idle_ = 0;
    jobs_.clear();
    new (&some_) std::condition_variable;
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::condition_variable some_;
  std::deque<Job> jobs_;
  std::size_t threads_ = 0;
  std::size_t idle_ = 0;
};

class PoolBackend final : public Backend {
 public:
  void submit(std::uint32_t slot, const Op& op) override { Pool::process().add({finished_, slot, op}); }

  void reap(std::vector<Done>& out, int milliseconds) override {
    std::unique_lock lock(finished_->mutex);
    if (milliseconds > 0)
      finished_->some.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return !finished_->done.empty(); });
    out.insert(out.end(), finished_->done.begin(), finished_->done.end());
    finished_->done.clear();
  }

 private:
  std::shared_ptr<Finished> finished_ = std::make_shared<Finished>();
};

}  // namespace

std::unique_ptr<Backend> make_pool_backend() { return std::make_unique<PoolBackend>(); }

}  // namespace lowtide::io
