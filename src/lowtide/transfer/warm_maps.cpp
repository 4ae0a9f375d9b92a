#include "lowtide/transfer/warm_maps.h"

#include <algorithm>

#include "lowtide/transfer/whole_files.h"

namespace lowtide {

// A map shows what is in the file now, whoever wrote it and through whichever descriptor.
bool WarmMaps::shows(const Entry& entry, const io::Stamp& file) {
  return entry.stamp.same_file(file) && entry.stamp.size_bytes == file.size_bytes;
}

WarmMaps& WarmMaps::process() {
  return one_for_process<WarmMaps>(ForkRank::warm_maps, [] {
    auto* made = new WarmMaps;
    Budget::process().add_evictable(made);
    return made;
  });
}

std::shared_ptr<const io::WarmMap> WarmMaps::find(io::File& file) {
  return WholeFiles::process().holds(file) || file.wholly_cached() ? map(file) : nullptr;
}

std::shared_ptr<const io::WarmMap> WarmMaps::map(io::File& file) {
  const io::Stamp stamp = file.stamp();
  std::deque<Entry> dropped;  // unmapped after the lock is gone
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return shows(e, stamp); });
  if (found != entries_.end()) {
    if (found != entries_.begin()) std::rotate(entries_.begin(), found, found + 1);
    return entries_.front().map;
  }
  Lease lease = Budget::process().try_take(io::WarmMap::page_table_bytes(file.size_bytes()), Purpose::cache);
  if (!lease) return nullptr;
  auto map = io::WarmMap::make(file);
  if (!map) return nullptr;
  entries_.push_front({stamp, std::move(lease), map});
  while (entries_.size() > most_count) {
    dropped.push_back(std::move(entries_.back()));
    entries_.pop_back();
  }
  return map;
}

void WarmMaps::unlock_after_fork(bool in_child) {
  std::deque<Entry> parents;
  if (in_child) {
    // A child has the entries and not the mappings: to unmap them would unmap what has taken their place.
    for (Entry& entry : entries_) new std::shared_ptr<const io::WarmMap>(std::move(entry.map));
    parents.swap(entries_);
  }
  mutex_.unlock();
}

void WarmMaps::forget(const io::Stamp& file) {
  std::deque<Entry> dropped;  // unmapped after the lock is gone
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (shows(*entry, file)) {
      dropped.push_back(std::move(*entry));
      entry = entries_.erase(entry);
    } else {
      ++entry;
    }
  }
}

std::uint64_t WarmMaps::evict(std::uint64_t bytes) {
  std::deque<Entry> dropped;
  std::uint64_t freed = 0;
  const std::lock_guard lock(mutex_);
  while (!entries_.empty() && freed < bytes) {
    freed += entries_.back().page_tables.bytes();
    dropped.push_back(std::move(entries_.back()));
    entries_.pop_back();
  }
  return freed;
}

}  // namespace lowtide
