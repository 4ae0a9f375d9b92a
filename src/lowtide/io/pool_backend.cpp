// The thread-pool backend: the same requests as synchronous calls, for sandboxes without io_uring and file systems without direct IO.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "lowtide/io/queue.h"
#include "lowtide/io/thread_pool.h"

namespace lowtide::io {
namespace {

// Where a queue's finished requests wait; shared, because a thread may still hold it when the queue is gone.
struct Finished {
  // No pool thread ever allocates: it has nobody to tell of a failure.
  Finished() { done.reserve(Queue::max_depth); }
  std::mutex mutex;
  std::condition_variable some;
  std::vector<Backend::Done> done;
};

class PoolBackend final : public Backend {
 public:
  void submit(std::uint32_t slot, const Op& op) override {
    ThreadPool::process().add([finished = finished_, slot, op] {
      const ssize_t result = op.kind == Request::Kind::read ? op.file->read(op.memory, op.offset, op.bytes)
                                                            : op.file->write(op.memory, op.offset, op.bytes);
      {
        const std::lock_guard lock(finished->mutex);
        finished->done.push_back({slot, result});
      }
      finished->some.notify_one();
    });
  }

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
