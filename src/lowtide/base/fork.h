// What must happen around fork() so that a child can use the library: locks are held across it, threads and rings are forgotten.
//
//   on_fork({.before = [] { mutex.lock(); }, .parent = [] { mutex.unlock(); }, .child = [] { mutex.unlock(); }});
//
// Thread-safe. `before` hooks run in reverse order of registration, the others in order (as pthread_atfork does).
#pragma once

namespace lowtide {

struct ForkHooks {
  void (*before)() = nullptr;
  void (*parent)() = nullptr;
  void (*child)() = nullptr;
};
void on_fork(ForkHooks hooks);

}  // namespace lowtide
