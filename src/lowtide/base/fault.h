// Makes the N-th operation fail, so that tests can walk every error path there is.
//
//   fault::Scope scope({.stage = fault::Stage::complete, .nth = 3, .error = EIO});
//   EXPECT_THROW(array.read(), IoError);
//   fault::seen(fault::Stage::complete);        // how many there were: the end of an N-sweep
//
// Thread-safe. Costs one relaxed load where no plan is set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide::fault {

enum class Stage : std::uint8_t {
  submit,    // a request is handed to the kernel
  complete,  // a request comes back
  call,      // any other system call on a file: open, statx, fallocate, fsync, rename, …
  allocate,  // a block of memory is mapped
};
inline constexpr std::size_t stage_count = 4;

struct Plan {
  Stage stage = Stage::complete;
  std::int64_t nth = 1;     // counted from 1
  int error = 0;            // errno to give; 0: the request comes back short instead (complete only)
  bool persistent = false;  // every one from the nth on, rather than the nth alone
};

void set(const Plan& plan);
void clear();
std::int64_t seen(Stage stage);  // since the last set()

// The errno to give for this operation, 0 for none, or give_short.
inline constexpr int give_short = -1;
int at(Stage stage);

class Scope {
 public:
  explicit Scope(const Plan& plan) { set(plan); }
  ~Scope() { clear(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
};

}  // namespace lowtide::fault
