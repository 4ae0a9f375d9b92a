// fork() in a process with threads: a child finds every lock free and what is behind it whole, and forgets the threads it does not have.
//
//   ForkMutex mutex_{ForkRank::stream};                     // held across fork()
//   Cache& Cache::process() { return one_for_process<Cache>(ForkRank::cache, [] { return new Cache; }); }
//   const MadeHere made_; … if (!made_.here()) …             // a ring or a thread: the parent's, in a child
//
// One registry takes all locks before fork(), in the order of their ranks, and gives them back on both sides, the
// last one first. While a lock is held,
// only locks of higher ranks may be taken, and nothing else may be waited for: not the disk, not the budget, not the border. What is held
// longer is a Turn (turn.h), which needs no registry.
//
// Thread-safe. Never blocks, but for whoever is making the same object.
#pragma once

#include <cstdint>
#include <mutex>

namespace lowtide {

// From the outermost lock to the innermost.
enum class ForkRank : std::uint8_t {
  loader,
  feed,
  stream,
  prefetch,
  for_speed,
  recycled_blocks,
  rings,
  threads,
  whole_files,
  warm_maps,
  block_cache,
  spare_blocks,
  descriptors,
  registrations,
  page_arena,
  budget,
  faults,
};
inline constexpr std::size_t fork_rank_count = 17;

// How many forks lie between this process and the first one.
std::uint32_t fork_generation();

// Whether this is still the process in which the object was made.
class MadeHere {
 public:
  MadeHere() : generation_(fork_generation()) {}
  bool here() const { return generation_ == fork_generation(); }

 private:
  std::uint32_t generation_;
};

// An object's place in the registry, for as long as it lives. Comes after the members that its hooks touch.
class ForkEntry {
 public:
  struct Hooks {
    bool (*try_lock)(void* object);
    void (*unlock)(void* object, bool in_child);
    void (*forget)(void* object) = nullptr;  // in a child, when all locks are free again
  };
  ForkEntry(ForkRank rank, void* object, const Hooks& hooks);
  ~ForkEntry();
  ForkEntry(const ForkEntry&) = delete;
  ForkEntry& operator=(const ForkEntry&) = delete;

 private:
  friend class ForkRegistry;
  ForkRank rank_;
  bool held_ = false;
  void* object_;
  Hooks hooks_;
  ForkEntry* before_ = nullptr;
  ForkEntry* after_ = nullptr;
};

template <class Object>
ForkEntry::Hooks fork_hooks() {
  return {.try_lock = [](void* object) { return static_cast<Object*>(object)->try_lock_for_fork(); },
          .unlock = [](void* object, bool in_child) { static_cast<Object*>(object)->unlock_after_fork(in_child); }};
}

class ForkMutex {
 public:
  explicit ForkMutex(ForkRank rank) : entry_(rank, this, fork_hooks<ForkMutex>()) {}
  void lock() { mutex_.lock(); }
  bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }
  bool try_lock_for_fork() { return mutex_.try_lock(); }
  void unlock_after_fork(bool /*in_child*/) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  ForkEntry entry_;
};

// For a class that is one for the process, has one lock and nothing to forget. Others have these two members of their own.
class LockedAcrossFork {
 public:
  bool try_lock_for_fork() { return mutex_.try_lock(); }
  void unlock_after_fork(bool /*in_child*/) { mutex_.unlock(); }

 protected:
  std::mutex mutex_;
};

// Made at first use and never destroyed, so that it can be used at exit.
template <class Object>
Object& one_for_process(ForkRank rank, Object* (*make)()) {
  static Object* const object = [rank, make] {
    Object* made = make();
    new ForkEntry(rank, made, fork_hooks<Object>());
    return made;
  }();
  return *object;
}

}  // namespace lowtide
