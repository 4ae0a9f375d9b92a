#include "lowtide/base/fork.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace lowtide {
namespace {

std::atomic<std::uint32_t> generation{0};

constexpr unsigned pause_us = 50;
constexpr unsigned most_tries = 20;  // in which a lock that is held for a moment should have been free

}  // namespace

std::uint32_t fork_generation() { return generation.load(std::memory_order_relaxed); }

class ForkRegistry {
 public:
  static ForkRegistry& process() {
    static ForkRegistry* const registry = [] {
      auto* made = new ForkRegistry;
      pthread_atfork([] { process().lock_all(); }, [] { process().unlock_all(false); },
                     [] { process().unlock_all(true); });
      return made;
    }();
    return *registry;
  }

  void add(ForkEntry& entry) {
    const std::lock_guard lock(mutex_);
    ForkEntry*& first = first_[static_cast<std::size_t>(entry.rank_)];
    entry.after_ = first;
    if (first != nullptr) first->before_ = &entry;
    first = &entry;
  }

  void remove(ForkEntry& entry) {
    std::unique_lock lock(mutex_);
    while (entry.held_) pause(lock);  // a fork is collecting locks, and has this one
    if (entry.before_ != nullptr) {
      entry.before_->after_ = entry.after_;
    } else {
      first_[static_cast<std::size_t>(entry.rank_)] = entry.after_;
    }
    if (entry.after_ != nullptr) entry.after_->before_ = entry.before_;
  }

 private:
  static void pause(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    usleep(pause_us);
    lock.lock();
  }

  // Whoever holds a lock may make or end objects with locks of their own, so the registry is not held while waiting for one. Such an object
  // may come when its rank was passed already, or wait for this fork to let go of it: then all locks are given back, and taken again.
  void lock_all() {
    std::unique_lock lock(mutex_);
    for (unsigned tries = 1; !lock_in_order(); ++tries) {
      if (tries % most_tries == 0) unlock_held(false);
      pause(lock);
    }
    lock.release();  // until the fork is done
  }

  bool lock_in_order() {
    for (ForkEntry* first : first_) {
      for (ForkEntry* entry = first; entry != nullptr; entry = entry->after_) {
        if (!entry->held_ && !(entry->held_ = entry->hooks_.try_lock(entry->object_))) return false;
      }
    }
    return true;
  }

  void unlock_held(bool in_child) {
    for (auto first = first_.rbegin(); first != first_.rend(); ++first) {
      for (ForkEntry* entry = *first; entry != nullptr; entry = entry->after_) {
        if (entry->held_) entry->hooks_.unlock(entry->object_, in_child);
        entry->held_ = false;
      }
    }
  }

  void unlock_all(bool in_child) {
    if (in_child) ++generation;
    unlock_held(in_child);
    if (in_child) {
      for (ForkEntry* first : first_) {
        for (ForkEntry* entry = first; entry != nullptr; entry = entry->after_) {
          if (entry->hooks_.forget != nullptr) entry->hooks_.forget(entry->object_);
        }
      }
    }
    mutex_.unlock();
  }

  std::mutex mutex_;
  std::array<ForkEntry*, fork_rank_count> first_{};
};

ForkEntry::ForkEntry(ForkRank rank, void* object, const Hooks& hooks) : rank_(rank), object_(object), hooks_(hooks) {
  ForkRegistry::process().add(*this);
}

ForkEntry::~ForkEntry() { ForkRegistry::process().remove(*this); }

}  // namespace lowtide
