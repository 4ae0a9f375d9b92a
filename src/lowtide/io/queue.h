// Many requests in flight at once, on one ring or a small pool of threads.
//
//   Queue queue(file->mode());
//   queue.push({.file = file.get(), .memory = block.data(), .offset = 0, .bytes = 1_MiB, .least_bytes = 1_MiB, .tag = 7});
//   for (const Completion& c : queue.wait()) …            // whole, or an error: short transfers, EINTR and EAGAIN are dealt with here
//
// Memory of a request must stay until its completion is seen or the queue is gone: ~Queue waits for what is in flight, so declare
// the memory before the queue.
//
// Not thread-safe: one thread at a time (any thread). Blocks: wait(), in slices that let Ctrl-C through; push() never.
// After fork() a child cannot use its parent's queues (Error); files and new queues work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lowtide/base/fork.h"
#include "lowtide/io/file.h"
#include "lowtide/io/mode.h"

namespace lowtide::io {

struct Request {
  enum class Kind : std::uint8_t { read, write };
  File* file = nullptr;  // REQUIRES: pinned
  Kind kind = Kind::read;
  std::byte* memory = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t least_bytes = 0;  // a read may stop at the end of the file once it has this many
  std::uint64_t tag = 0;
};

struct Completion {
  std::uint64_t tag = 0;
  std::uint32_t bytes = 0;
  int error = 0;  // errno; end_of_file when the file ended before least_bytes
};
inline constexpr int end_of_file = -1;

// What moves requests: a ring or a pool. Slots identify requests; a backend never looks at retries.
class Backend {
 public:
  struct Op {
    File* file;
    Request::Kind kind;
    std::byte* memory;
    std::uint64_t offset;
    std::uint32_t bytes;
  };
  struct Done {
    std::uint32_t slot;
    std::int64_t result;  // bytes, or -errno
  };
  virtual ~Backend() = default;
  virtual void submit(std::uint32_t slot, const Op& op) = 0;  // REQUIRES: fewer than Queue::max_depth in flight
  // Hands over what is finished, waiting up to `milliseconds` for the first. Called with 0 to look only.
  virtual void reap(std::vector<Done>& out, int milliseconds) = 0;
  virtual bool broken() const {
    return false;
  }  // takes nothing any more; what it had not begun is reported as ECANCELED
  virtual bool idle() const { return true; }  // has nothing in flight and nothing to report
};
std::unique_ptr<Backend> take_uring();  // nullptr when the kernel refuses a ring now (fds, memory)
void give_uring(std::unique_ptr<Backend> backend);
std::unique_ptr<Backend> make_pool_backend();

class Queue {
 public:
  static constexpr std::size_t max_depth = 256;

  explicit Queue(Mode mode);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void push(const Request& request);  // REQUIRES: in_flight() < max_depth
  // At least one completion, unless nothing is in flight. The span lives until the next call. Throws what the interrupt hook throws.
  std::span<const Completion> wait();
  std::span<const Completion> look();  // what there is within a slice; runs no hook
  std::size_t in_flight() const { return in_flight_; }
  void drain() noexcept;  // waits for everything and forgets it

 private:
  struct Slot {
    Request request;
    std::uint32_t done_bytes = 0;
    std::uint32_t retries = 0;
    std::uint32_t stalls = 0;  // answers in a row that brought no whole unit
  };
  void check_here();
  void collect(int milliseconds);
  void reap(int milliseconds);
  void settle(std::uint32_t slot, std::int64_t result);
  void submit(std::uint32_t slot);
  void finish(std::uint32_t slot, std::uint32_t bytes, int error);

  bool ring_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Backend> broken_;  // a ring that was forbidden, until what it has in flight is finished
  MadeHere made_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::uint32_t> again_;  // to be submitted once more
  std::vector<Backend::Done> done_;
  std::vector<Completion> completions_;
  std::size_t in_flight_ = 0;
};

}  // namespace lowtide::io
