#include "lowtide/array/warm_maps.h"

#include <unistd.h>

#include <algorithm>

namespace lowtide {

WarmMaps& WarmMaps::process() {
  return one_for_process<WarmMaps>([] {
    auto* made = new WarmMaps;
    made->owner_pid_ = getpid();
    Budget::process().add_evictable(made);
    return made;
  });
}

std::shared_ptr<const io::WarmMap> WarmMaps::find(io::File& file) {
  if (!file.wholly_cached()) return nullptr;
  const std::uint64_t content = file.content_id();
  std::deque<Entry> dropped;  // unmapped after the lock is gone
  const std::lock_guard lock(mutex_);
  forget_parents();
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.content == content; });
  if (found != entries_.end()) {
    if (found != entries_.begin()) std::rotate(entries_.begin(), found, found + 1);
    return entries_.front().map;
  }
  Lease lease = Budget::process().try_take(io::WarmMap::page_table_bytes(file.size_bytes()), Purpose::cache);
  if (!lease) return nullptr;
  auto map = io::WarmMap::make(file);
  if (!map) return nullptr;
  entries_.push_front({content, std::move(lease), map});
  while (entries_.size() > most_count) {
    dropped.push_back(std::move(entries_.back()));
    entries_.pop_back();
  }
  return map;
}

// A child of fork() has the entries and not the mappings: to unmap them would unmap what has taken their place.
void WarmMaps::forget_parents() {
  if (owner_pid_ == getpid()) return;
  for (Entry& entry : entries_) new std::shared_ptr<const io::WarmMap>(std::move(entry.map));
  entries_.clear();
  owner_pid_ = getpid();
}

std::uint64_t WarmMaps::evict(std::uint64_t bytes) {
  std::deque<Entry> dropped;
  std::uint64_t freed = 0;
  const std::lock_guard lock(mutex_);
  forget_parents();
  while (!entries_.empty() && freed < bytes) {
    freed += entries_.back().page_tables.bytes();
    dropped.push_back(std::move(entries_.back()));
    entries_.pop_back();
  }
  return freed;
}

}  // namespace lowtide
