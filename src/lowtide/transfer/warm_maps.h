// The maps of files that are in the page cache, with leases for their page tables; given up when anyone needs the bytes.
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
  // Of a file that is not: REQUIRES, too: only what is known to be cached is copied out of it.
  std::shared_ptr<const io::WarmMap> map(io::File& file);
  std::uint64_t evict(std::uint64_t bytes) override;
  void unlock_after_fork(bool in_child);
  void forget(const io::Stamp& file);

 private:
  static constexpr std::size_t most_count = 16;
  struct Entry {
    io::Stamp stamp;
    Lease page_tables;
    std::shared_ptr<const io::WarmMap> map;
  };
  static bool shows(const Entry& entry, const io::Stamp& file);

  std::deque<Entry> entries_;  // latest first
};

}  // namespace lowtide
