#include "lowtide/memory/page_arena.h"

#include <sys/mman.h>

#include <optional>

#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

std::optional<std::size_t> find_free(const std::bitset<PageArena::span_pages>& used, std::size_t from, std::size_t to,
                                     std::size_t count) {
  std::size_t run = 0;
  for (std::size_t i = from; i < to; ++i) {
    run = used[i] ? 0 : run + 1;
    if (run == count) return i + 1 - count;
  }
  return std::nullopt;
}

}  // namespace

PageArena& PageArena::process() {
  return one_for_process<PageArena>(ForkRank::page_arena, [] { return new PageArena; });
}

std::byte* PageArena::allocate(std::size_t bytes) {
  const std::size_t count = bytes / page_bytes;
  const std::lock_guard lock(mutex_);
  const auto take_from = [&](std::byte* first, Span& span) -> std::byte* {
    if (span.free_pages < count) return nullptr;
    auto at = find_free(span.used, span.next, span_pages, count);
    if (!at) at = find_free(span.used, 0, span_pages, count);
    if (!at) return nullptr;
    for (std::size_t i = 0; i < count; ++i) span.used.set(*at + i);
    span.free_pages -= count;
    span.next = *at + count;
    last_ = first;
    return first + *at * page_bytes;
  };
  if (const auto found = spans_.find(last_); found != spans_.end()) {
    if (std::byte* data = take_from(found->first, found->second)) return data;
  }
  for (auto& [first, span] : spans_) {
    if (std::byte* data = take_from(first, span)) return data;
  }
  void* mapping = mmap(nullptr, span_pages * page_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  // A huge page would make 2 MiB resident for the first 4 KiB touched.
  madvise(mapping, span_pages * page_bytes, MADV_NOHUGEPAGE);
  auto* first = static_cast<std::byte*>(mapping);
  return take_from(first, spans_[first]);
}

void PageArena::free(std::byte* data, std::size_t bytes) noexcept {
  const std::size_t count = bytes / page_bytes;
  const std::lock_guard lock(mutex_);
  const auto found = std::prev(spans_.upper_bound(data));
  auto& [first, span] = *found;
  const std::size_t at = static_cast<std::size_t>(data - first) / page_bytes;
  for (std::size_t i = 0; i < count; ++i) span.used.reset(at + i);
  span.free_pages += count;
  if (span.free_pages == span_pages && spans_.size() > 1) {
    munmap(first, span_pages * page_bytes);
    spans_.erase(found);
    return;
  }
  madvise(data, bytes, MADV_DONTNEED);
}

}  // namespace lowtide
