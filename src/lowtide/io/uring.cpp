// The io_uring backend: one ring per queue, rings kept for the next queue.
#include <liburing.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

#include "lowtide/base/fork.h"
#include "lowtide/io/queue.h"

namespace lowtide::io {
namespace {

constexpr unsigned ring_entries = Queue::max_depth;
constexpr std::size_t idle_rings = 4;
// Requests are handed over in groups: one system call for many while the disk is busy anyway.
constexpr unsigned submit_batch = 16;

class Uring final : public Backend {
 public:
  static int create(std::unique_ptr<Uring>& out) {
    auto made = std::unique_ptr<Uring>(new Uring);
    io_uring_params params{};
    params.flags = IORING_SETUP_COOP_TASKRUN;
    int error = io_uring_queue_init_params(ring_entries, &made->ring_, &params);
    if (error == -EINVAL) {  // before 5.19
      params = {};
      error = io_uring_queue_init_params(ring_entries, &made->ring_, &params);
    }
    if (error < 0) return -error;
    made->open_ = true;
    out = std::move(made);
    return 0;
  }

  ~Uring() override {
    if (open_) io_uring_queue_exit(&ring_);
  }

  // In a forked child: the descriptor is ours to close, the ring is the parent's.
  void abandon() {
    open_ = false;
    ::close(ring_.ring_fd);
  }

  void submit(std::uint32_t slot, const Op& op) override {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    while (sqe == nullptr) {
      flush();
      sqe = io_uring_get_sqe(&ring_);
    }
    if (op.kind == Request::Kind::read) {
      io_uring_prep_read(sqe, op.file->fd(), op.memory, op.bytes, op.offset);
    } else {
      io_uring_prep_write(sqe, op.file->fd(), op.memory, op.bytes, op.offset);
    }
    io_uring_sqe_set_data64(sqe, slot);
    if (++unsubmitted_ >= submit_batch) flush();
  }

  void reap(std::vector<Done>& out, int milliseconds) override {
    flush();
    if (!take_finished(out) && milliseconds > 0) {
      __kernel_timespec limit{0, milliseconds * 1'000'000LL};
      io_uring_cqe* cqe = nullptr;
      io_uring_wait_cqe_timeout(&ring_, &cqe, &limit);  // ETIME and EINTR: the caller asks again
      take_finished(out);
    }
  }

 private:
  Uring() = default;

  void flush() {
    if (unsubmitted_ == 0) return;
    const int n = io_uring_submit(&ring_);
    // EAGAIN and EBUSY: the kernel is out of something for now, and finishing what is in flight gives it back.
    if (n > 0) unsubmitted_ -= std::min(unsubmitted_, static_cast<unsigned>(n));
  }

  bool take_finished(std::vector<Done>& out) {
    io_uring_cqe* cqe = nullptr;
    unsigned head = 0;
    unsigned count = 0;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      out.push_back({static_cast<std::uint32_t>(io_uring_cqe_get_data64(cqe)), cqe->res});
      ++count;
    }
    io_uring_cq_advance(&ring_, count);
    return count > 0;
  }

  io_uring ring_{};
  bool open_ = false;
  unsigned unsubmitted_ = 0;
};

struct Idle {
  std::mutex mutex;
  std::vector<std::unique_ptr<Uring>> rings;

  void lock_for_fork() { mutex.lock(); }
  void unlock_after_fork(bool in_child) {
    if (in_child) {
      for (auto& ring : rings) ring->abandon();
      rings.clear();
    }
    mutex.unlock();
  }
};

Idle& idle() {
  return one_for_process<Idle>([] { return new Idle; });
}

int probe() {
  std::unique_ptr<Uring> ring;
  const int error = Uring::create(ring);
  if (error == 0) give_uring(std::move(ring));
  return error;
}

// A refusal by seccomp, sysctl or an old kernel does not change while a process runs; one for want of descriptors or memory does.
int refusal() {
  static std::atomic<int> settled{-1};
  if (const int error = settled.load(); error >= 0) return error;
  const int error = probe();
  if (error != EMFILE && error != ENFILE && error != ENOMEM) settled = error;
  return error;
}

}  // namespace

bool uring_available() { return refusal() == 0; }

std::string uring_refusal() {
  const int error = refusal();
  return error == 0 ? "" : std::string("io_uring: ") + std::strerror(error);
}

std::unique_ptr<Backend> take_uring() {
  {
    const std::lock_guard lock(idle().mutex);
    if (!idle().rings.empty()) {
      auto ring = std::move(idle().rings.back());
      idle().rings.pop_back();
      return ring;
    }
  }
  std::unique_ptr<Uring> ring;
  if (Uring::create(ring) != 0) return nullptr;
  return ring;
}

void give_uring(std::unique_ptr<Backend> backend) {
  const std::lock_guard lock(idle().mutex);
  if (idle().rings.size() < idle_rings) idle().rings.emplace_back(static_cast<Uring*>(backend.release()));
}

}  // namespace lowtide::io
