// Small page-granular allocations out of large mappings: a process that holds 100,000 small results must not run out of mappings
// (vm.max_map_count is 65,530), and freed pages must still go back to the kernel.
//
//   std::byte* p = PageArena::process().allocate(2 * page_bytes);   // zeroed; nullptr when the kernel refuses
//   PageArena::process().free(p, 2 * page_bytes);                   // the pages are gone from the process
//
// Thread-safe. Never blocks.
#pragma once

#include <bitset>
#include <cstddef>
#include <map>

#include "lowtide/base/fork.h"

namespace lowtide {

class PageArena : public LockedAcrossFork {
 public:
  static constexpr std::size_t span_pages = 1024;                // one mapping: 4 MiB
  static constexpr std::size_t largest_pages = span_pages / 16;  // larger requests deserve their own mapping

  static PageArena& process();
  std::byte* allocate(std::size_t bytes);  // REQUIRES: whole pages, at most largest_pages
  void free(std::byte* data, std::size_t bytes) noexcept;

 private:
  struct Span {
    std::bitset<span_pages> used;
    std::size_t free_pages = span_pages;
    std::size_t next = 0;  // where the last search ended
  };
  std::map<std::byte*, Span> spans_;  // by first byte
  std::byte* last_ = nullptr;         // the span that served last
};

}  // namespace lowtide
