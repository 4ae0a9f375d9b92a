// The maps of files that are all in the page cache, with leases for their page tables; given up when anyone needs the bytes.
//
//   if (auto map = WarmMaps::process().find(file)) map->copy(…);
//
// Thread-safe. Never blocks.
#pragma once

#include <deque>
#include <memory>

#include "lowtide/base/fork.h"
#include "lowtide/io/warm_map.h"
#include "lowtide/memory/budget.h"

namespace lowtide {

class WarmMaps final : public Evictable, public LockedAcrossFork {
 public:
  static WarmMaps& process();
  // nullptr unless the file is wholly cached and a map of it can be had. REQUIRES: the file is pinned.
  std::shared_ptr<const io::WarmMap> find(io::File& file);
  std::uint64_t evict(std::uint64_t bytes) override;

 private:
  static constexpr std::size_t most_count = 16;
  struct Entry {
    std::uint64_t content = 0;
    Lease page_tables;
    std::shared_ptr<const io::WarmMap> map;
  };
  void forget_parents();  // REQUIRES: lock held

  std::deque<Entry> entries_;  // latest first
  int owner_pid_ = 0;
};

}  // namespace lowtide
