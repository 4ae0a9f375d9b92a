// The io_uring backend: one ring per queue, rings kept for the next queue.
#include <liburing.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>

#include "lowtide/base/fork.h"
#include "lowtide/io/queue.h"

namespace lowtide::io {
namespace {

constexpr unsigned ring_entries = Queue::max_depth;
constexpr std::size_t idle_rings = 4;
// Requests are handed over in groups: one system call for many while the disk is busy anyway.
constexpr unsigned submit_batch = 16;

void forbid_rings(int error);

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
    io_uring_sqe* sqe = broken_ == 0 ? io_uring_get_sqe(&ring_) : nullptr;
    if (sqe == nullptr && broken_ == 0) {
      flush();
      sqe = broken_ == 0 ? io_uring_get_sqe(&ring_) : nullptr;
    }
    if (sqe == nullptr) return refused_.push_back({slot, broken_ == 0 ? -EAGAIN : -ECANCELED});
    if (op.kind == Request::Kind::read) {
      io_uring_prep_read(sqe, op.file->fd(), op.memory, op.bytes, op.offset);
    } else {
      io_uring_prep_write(sqe, op.file->fd(), op.memory, op.bytes, op.offset);
    }
    io_uring_sqe_set_data64(sqe, slot);
    unsubmitted_.push_back(slot);
    if (unsubmitted_.size() >= submit_batch) flush();
  }

  void reap(std::vector<Done>& out, int milliseconds) override {
    flush();
    out.insert(out.end(), refused_.begin(), refused_.end());
    const bool some = !refused_.empty();
    refused_.clear();
    if (take_finished(out) || some || milliseconds == 0) return;
    if (broken_ == 0) {
      __kernel_timespec limit{0, milliseconds * 1'000'000LL};
      io_uring_cqe* cqe = nullptr;
      const int error = -io_uring_wait_cqe_timeout(&ring_, &cqe, &limit);
      if (error > 0 && error != ETIME && !passes(error)) give_up(error);
      take_finished(out);
      return;
    }
    // The kernel finishes what it has and says so in memory; any system call lets it.
    for (int waited = 0; waited < milliseconds && !take_finished(out); ++waited)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  bool broken() const override { return broken_ != 0; }
  bool idle() const override { return in_kernel_ == 0 && refused_.empty() && unsubmitted_.empty(); }

 private:
  Uring() = default;

  // Out of something for now: what is in flight gives it back.
  static bool passes(int error) { return error == EAGAIN || error == EBUSY || error == EINTR || error == ENOMEM; }

  void flush() {
    if (unsubmitted_.empty() || broken_ != 0) return;
    const int n = io_uring_submit(&ring_);
    if (n > 0) {
      const auto taken = std::min(unsubmitted_.size(), static_cast<std::size_t>(n));
      unsubmitted_.erase(unsubmitted_.begin(), unsubmitted_.begin() + static_cast<std::ptrdiff_t>(taken));
      in_kernel_ += taken;
      failures_ = 0;
    } else if (n < 0 && (!passes(-n) || (++failures_ >= most_failures && in_kernel_ == 0))) {
      give_up(-n);
    }
  }

  // A sandbox that closed after the ring was made: what has not been handed over never will be.
  void give_up(int error) {
    broken_ = error;
    for (const std::uint32_t slot : unsubmitted_) refused_.push_back({slot, -ECANCELED});
    unsubmitted_.clear();
    forbid_rings(error);
  }

  bool take_finished(std::vector<Done>& out) {
    io_uring_cqe* cqe = nullptr;
    unsigned head = 0;
    unsigned count = 0;
    const std::size_t before = out.size();
    io_uring_for_each_cqe(&ring_, head, cqe) {
      ++count;
      if (cqe->user_data == LIBURING_UDATA_TIMEOUT) continue;  // before 5.11 a timeout is a request
      out.push_back({static_cast<std::uint32_t>(io_uring_cqe_get_data64(cqe)), cqe->res});
    }
    io_uring_cq_advance(&ring_, count);
    in_kernel_ -= out.size() - before;
    return out.size() > before;
  }

  static constexpr int most_failures = 250;

  io_uring ring_{};
  bool open_ = false;
  int broken_ = 0;  // errno: the kernel takes nothing from this ring any more
  int failures_ = 0;
  std::size_t in_kernel_ = 0;
  std::vector<std::uint32_t> unsubmitted_;
  std::vector<Done> refused_;
};

struct Idle {
  std::mutex mutex;
  std::vector<std::unique_ptr<Uring>> rings;

  bool try_lock_for_fork() { return mutex.try_lock(); }
  void unlock_after_fork(bool in_child) {
    if (in_child) {
      for (auto& ring : rings) ring->abandon();
      rings.clear();
    }
    mutex.unlock();
  }
};

Idle& idle() {
  return one_for_process<Idle>(ForkRank::rings, [] { return new Idle; });
}

int probe() {
  std::unique_ptr<Uring> ring;
  const int error = Uring::create(ring);
  if (error == 0) give_uring(std::move(ring));
  return error;
}

// A refusal by seccomp, sysctl or an old kernel does not change while a process runs; one for want of descriptors or memory does.
std::atomic<int> settled{-1};

void forbid_rings(int error) { settled = error; }

int refusal() {
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
  if (settled > 0) return nullptr;
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
