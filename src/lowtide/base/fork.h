// What is one for the process and is used by the children of fork() too: its locks are held across fork(), so that a child finds it
// whole; what belongs to threads that the child does not have is forgotten there.
//
//   class Cache : public LockedAcrossFork { … static Cache& process(); };
//   Cache& Cache::process() { return one_for_process<Cache>([] { return new Cache; }); }
//
// Locks are taken in reverse order of first use (as pthread_atfork does): make what is locked last first, in array/prepare.cpp.
//
// Thread-safe. Never blocks, but for whoever is making the same object.
#pragma once

#include <mutex>

namespace lowtide {

struct ForkHooks {
  void (*before)() = nullptr;
  void (*parent)() = nullptr;
  void (*child)() = nullptr;
};
void on_fork(ForkHooks hooks);

// For a class with one lock and nothing to forget. Others have these two members of their own.
class LockedAcrossFork {
 public:
  void lock_for_fork() { mutex_.lock(); }
  void unlock_after_fork(bool /*in_child*/) { mutex_.unlock(); }

 protected:
  std::mutex mutex_;
};

// Made at first use and never destroyed, so that it can be used at exit.
template <class Object>
Object& one_for_process(Object* (*make)()) {
  static Object* object = nullptr;  // for the hooks, which take no arguments
  [[maybe_unused]] static const bool made = [make] {
    object = make();
    on_fork({.before = [] { object->lock_for_fork(); },
             .parent = [] { object->unlock_after_fork(false); },
             .child = [] { object->unlock_after_fork(true); }});
    return true;
  }();
  return *object;
}

}  // namespace lowtide
