// How a border (Python, the command line) stops long work.
//
//   set_interrupt_hook([] { if (ctrl_c_seen) throw CancelledError("interrupted"); });   // the border, once
//   interrupt_point();                                                                   // long work, often: costs a clock read
//
// Every wait in the library is sliced to at most interrupt_slice_ms and calls interrupt_now() between slices. The hook runs on the
// thread that waits, holds no lock of ours, and stops the work by throwing.
//
// Thread-safe: every function.
#pragma once

namespace lowtide {

inline constexpr int interrupt_slice_ms = 40;

void set_interrupt_hook(void (*hook)());
void interrupt_now();    // runs the hook
void interrupt_point();  // runs the hook if this thread has not for a slice

// For the life of a thread of the library's own: no hook of a border runs on it.
class OwnThread {
 public:
  OwnThread();
  ~OwnThread();
  OwnThread(const OwnThread&) = delete;
  OwnThread& operator=(const OwnThread&) = delete;
};
bool on_own_thread();

}  // namespace lowtide
