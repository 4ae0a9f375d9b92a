#include "lowtide/doctor/sampler/live_table.h"

#include <sched.h>

#include <cstring>

namespace lowtide::sampler {
namespace {

constexpr std::uintptr_t removed = 1;

std::uint64_t hash_of(const Frames& frames) {
  std::uint64_t hash = 1469598103934665603ULL;
  const auto mix = [&](std::uint64_t value) { hash = (hash ^ value) * 1099511628211ULL; };
  for (int i = 0; i < frames.native_count; ++i) mix(reinterpret_cast<std::uintptr_t>(frames.native[i]));
  for (int i = 0; i < frames.python_count; ++i) mix(frames.python[i]);
  return hash | 1;
}

}  // namespace

void SpinLock::lock() {
  while (held_.test_and_set(std::memory_order_acquire)) sched_yield();
}

// Slot 0 is everybody's who finds no other.
std::uint32_t LiveTable::find_stack(const Frames& frames) {
  const std::uint64_t hash = hash_of(frames);
  for (std::uint32_t i = 0; i < 32; ++i) {
    const std::uint32_t at = 1 + (hash + i) % (stack_capacity - 1);
    if (stacks_[at].hash == hash) return at;
    if (stacks_[at].hash == 0) {
      stacks_[at].frames = frames;
      stacks_[at].hash = hash;
      return at;
    }
  }
  return 0;
}

void LiveTable::add(const void* pointer, std::uint64_t weight_bytes, const Frames& frames) {
  lock();
  const std::uint32_t stack = find_stack(frames);
  bool kept = false;
  for (std::uint32_t i = 0; i < 64 && !kept; ++i) {
    Entry& entry = entries_[(hash(pointer) + i) % entry_capacity];
    if (entry.pointer > removed) continue;
    entry = {reinterpret_cast<std::uintptr_t>(pointer), stack, weight_bytes};
    filter_[hash(pointer) % filter_size].fetch_add(1, std::memory_order_relaxed);
    stacks_[stack].live_bytes += static_cast<std::int64_t>(weight_bytes);
    kept = true;
  }
  if (!kept) ++dropped_;
  unlock();
}

void LiveTable::remove(const void* pointer) {
  lock();
  for (std::uint32_t i = 0; i < 64; ++i) {
    Entry& entry = entries_[(hash(pointer) + i) % entry_capacity];
    if (entry.pointer == 0) break;
    if (entry.pointer != reinterpret_cast<std::uintptr_t>(pointer)) continue;
    stacks_[entry.stack].live_bytes -= static_cast<std::int64_t>(entry.weight);
    entry.pointer = removed;
    filter_[hash(pointer) % filter_size].fetch_sub(1, std::memory_order_relaxed);
    break;
  }
  unlock();
}

std::uint32_t LiveTable::intern(const char* text) {
  const auto length = static_cast<std::uint32_t>(std::strlen(text)) + 1;
  lock();
  std::uint32_t at = 1;
  while (at < text_end_ && std::strcmp(texts_ + at, text) != 0)
    at += static_cast<std::uint32_t>(std::strlen(texts_ + at)) + 1;
  if (at >= text_end_) {
    if (text_end_ + length > sizeof texts_) {
      at = 0;
    } else {
      std::memcpy(texts_ + text_end_, text, length);
      text_end_ += length;
    }
  }
  unlock();
  return at;
}

int LiveTable::largest(const Stack** out, int count) const {
  int found = 0;
  for (const Stack& stack : stacks_) {
    if (stack.live_bytes <= 0) continue;
    if (found == count && out[count - 1]->live_bytes >= stack.live_bytes) continue;
    int at = found < count ? found++ : count - 1;
    for (; at > 0 && out[at - 1]->live_bytes < stack.live_bytes; --at) out[at] = out[at - 1];
    out[at] = &stack;
  }
  return found;
}

}  // namespace lowtide::sampler
