// One long operation at a time on something that threads share, where a mutex would be held across waits.
//
//   Turn turn_;
//   const Turn::Held mine = turn_.take("the next batch");    // waits for whoever has it; interruptible
//
// A thread that has the turn and asks for it again, from a signal handler or a callback inside the operation, gets an Error instead of
// waiting for itself. In a forked child, a turn that a thread of the parent had is free.
//
// Thread-safe. Blocks: take(), sliced and interruptible; never hold a mutex while calling it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

namespace lowtide {

// Names this thread: unique in the process, never 0, and the same in a forked child.
std::uint32_t this_thread_id();

class Turn {
 public:
  class Held {
   public:
    Held() = default;
    explicit Held(Turn& turn) : turn_(&turn) {}
    Held(Held&& other) noexcept : turn_(std::exchange(other.turn_, nullptr)) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (turn_ != nullptr) turn_->give();
    }

   private:
    Turn* turn_ = nullptr;
  };

  Turn() = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  [[nodiscard]] Held take(std::string_view what);
  // Whether a thread of this process is at it.
  bool taken() const;

 private:
  bool try_take();
  void give() noexcept;

  std::atomic<std::uint64_t> holder_{0};  // the thread's id below, the generation of its process above
  std::atomic<std::uint32_t> waiting_{0};
};

}  // namespace lowtide
