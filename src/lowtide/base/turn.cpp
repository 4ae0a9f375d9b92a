#include "lowtide/base/turn.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <ctime>

#include "lowtide/base/fork.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/error.h"

namespace lowtide {
namespace {

static_assert(std::endian::native == std::endian::little && sizeof(std::atomic<std::uint64_t>) == 8);

std::uint32_t thread_of(std::uint64_t holder) { return static_cast<std::uint32_t>(holder); }
bool is_here(std::uint64_t holder) {
  return thread_of(holder) == this_thread_id() || holder >> 32 == fork_generation();
}

void sleep_while(std::atomic<std::uint64_t>& holder, std::uint32_t thread) {
  const timespec slice{0, interrupt_slice_ms * 1'000'000L};
  syscall(SYS_futex, &holder, FUTEX_WAIT_PRIVATE, thread, &slice, nullptr, 0);
}

class Counted {
 public:
  explicit Counted(std::atomic<std::uint32_t>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<std::uint32_t>& count_;
};

}  // namespace

std::uint32_t this_thread_id() {
  static std::atomic<std::uint32_t> last{0};
  thread_local const std::uint32_t id = ++last;
  return id;
}

bool Turn::try_take() {
  std::uint64_t now = holder_.load();
  if (now != 0 && is_here(now)) return false;
  return holder_.compare_exchange_strong(now, std::uint64_t{fork_generation()} << 32 | this_thread_id());
}

Turn::Held Turn::take(std::string_view what) {
  if (try_take()) return Held(*this);
  const Counted waiting(waiting_);
  while (!try_take()) {
    const std::uint32_t thread = thread_of(holder_.load());
    if (thread == this_thread_id()) {
      throw Error(fmt::format(
          "{}: this thread is in the middle of that already, and a signal handler or callback that runs there cannot "
          "ask for it; set a flag there and do it after the call",
          what));
    }
    if (thread != 0) sleep_while(holder_, thread);
    interrupt_point();
  }
  return Held(*this);
}

bool Turn::taken() const {
  const std::uint64_t now = holder_.load();
  return now != 0 && is_here(now);
}

void Turn::give() noexcept {
  holder_.store(0);
  if (waiting_.load() > 0) syscall(SYS_futex, &holder_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace lowtide
