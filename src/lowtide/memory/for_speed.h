// Bytes that somebody keeps only to be faster, and gives back before anyone else is refused: blocks read ahead, slots that are not in use.
//
//   class Stream { … ForSpeed for_speed_{[this](std::uint64_t bytes) { return give_back(bytes); }}; };   // the last member
//   { const ForSpeed::Use use(for_speed_); … }                                            // nobody asks while the owner works
//
// The function runs on whatever thread needs the bytes, between two uses. It frees about as many as it is asked for, returns how many,
// and waits for a disk at most, a second at most.
//
// Thread-safe. Blocks: Use and the destructor, while the function runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace lowtide {

class ForSpeed {
 public:
  using GiveBack = std::function<std::uint64_t(std::uint64_t bytes)>;
  explicit ForSpeed(GiveBack give_back);
  ~ForSpeed();
  ForSpeed(const ForSpeed&) = delete;
  ForSpeed& operator=(const ForSpeed&) = delete;

  class Use {
   public:
    explicit Use(ForSpeed& of);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    ForSpeed& of_;
  };

  static void prepare();  // before the first fork()

 private:
  friend class AllForSpeed;
  std::uint64_t ask(std::uint64_t bytes);  // 0 while it is in use

  GiveBack give_back_;
  std::atomic<bool> used_{false};
};

}  // namespace lowtide
