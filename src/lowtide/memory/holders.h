// Which thread holds how much of a budget, so that nobody waits for himself, or for a thread that waits too.
//
//   holders.make(thread);                                       // may throw; what follows does not
//   holders.add(bytes, purpose, thread);
//   holders.of_others(thread).certain_bytes                     // will come back without anyone's help
//
// Not thread-safe: the budget's lock is held. Never blocks.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "lowtide/memory/purpose.h"

namespace lowtide {

class Holders {
 public:
  struct Expected {
    std::uint64_t certain_bytes = 0;   // of operations under way
    std::uint64_t possible_bytes = 0;  // that their callers may give back, or keep
  };

  void make(std::uint32_t thread);
  bool has(std::uint32_t thread) const { return shares_.contains(thread); }
  void add(std::uint64_t bytes, Purpose purpose, std::uint32_t thread) noexcept;
  // False if the bytes were written off already.
  bool remove(std::uint64_t bytes, Purpose purpose, std::uint32_t thread) noexcept;

  // A thread that waits for memory, or is in a callback, gives nothing back meanwhile.
  void begin_wait(std::uint32_t thread) noexcept { ++shares_.at(thread).waits; }
  void end_wait(std::uint32_t thread) noexcept { --shares_.at(thread).waits; }
  bool waits(std::uint32_t thread) const { return shares_.at(thread).waits > 0; }
  std::uint64_t transient_bytes(std::uint32_t thread) const { return shares_.at(thread).transient_bytes; }
  Expected of_others(std::uint32_t thread) const;

  // In a forked child, where only `thread` is left: what operations of the others held. Returns how much that was.
  std::uint64_t write_off_others(std::uint32_t thread) noexcept;

 private:
  struct Share {
    std::uint64_t transient_bytes = 0, kept_bytes = 0;
    int waits = 0;
    bool gone = false;
  };
  void forget_idle();

  std::unordered_map<std::uint32_t, Share> shares_;
};

}  // namespace lowtide
