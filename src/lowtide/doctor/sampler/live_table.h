// Sampled allocations that are still live, and the stacks that made them.
//
//   const std::uint32_t stack = table.stack_of(frames);
//   table.add(pointer, weight_bytes, stack);
//   if (table.may_hold(pointer)) table.remove(pointer);      // one load for nearly every free()
//
// Thread-safe. Allocates nothing through malloc: it is called from malloc. Fixed in size; what does not fit is counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lowtide::sampler {

constexpr int native_depth = 14, python_depth = 6;

struct Frames {
  void* native[native_depth] = {};
  std::uint32_t python[python_depth] = {};  // texts, by intern(); 0: none
  int native_count = 0, python_count = 0;
};

struct Stack {
  Frames frames;
  std::uint64_t hash = 0;
  std::int64_t live_bytes = 0;
};

class SpinLock {
 public:
  void lock();
  void unlock() { held_.clear(std::memory_order_release); }

 private:
  std::atomic_flag held_ = ATOMIC_FLAG_INIT;
};

class LiveTable {
 public:
  static constexpr std::uint32_t stack_capacity = 4096, entry_capacity = 1 << 16, filter_size = 1 << 16;

  bool may_hold(const void* pointer) const {
    return filter_[hash(pointer) % filter_size].load(std::memory_order_relaxed) != 0;
  }
  void add(const void* pointer, std::uint64_t weight_bytes, const Frames& frames);
  void remove(const void* pointer);
  std::uint32_t intern(const char* text);  // 0 where there is no more room
  const char* text(std::uint32_t at) const { return texts_ + at; }
  // The `count` stacks with most live bytes, largest first. Returns how many there are.
  int largest(const Stack** out, int count) const;
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Entry {
    std::uintptr_t pointer = 0;  // 0: never used; 1: removed
    std::uint32_t stack = 0;
    std::uint64_t weight = 0;
  };
  static std::uint64_t hash(const void* pointer) {
    return (reinterpret_cast<std::uintptr_t>(pointer) >> 4) * 0x9E3779B97F4A7C15ULL >> 40;
  }
  std::uint32_t find_stack(const Frames& frames);

  SpinLock lock_;
  std::atomic<std::uint16_t> filter_[filter_size] = {};
  Entry entries_[entry_capacity] = {};
  Stack stacks_[stack_capacity] = {};
  char texts_[1 << 18] = {};
  std::uint32_t text_end_ = 1;
  std::uint64_t dropped_ = 0;
};

}  // namespace lowtide::sampler
