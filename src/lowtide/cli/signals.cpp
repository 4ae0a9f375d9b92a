#include "lowtide/cli/signals.h"

#include <csignal>

#include "lowtide/base/interrupt.h"
#include "lowtide/error.h"

namespace lowtide::cli {
namespace {

volatile std::sig_atomic_t seen = 0;

void on_signal(int number) { seen = number; }

}  // namespace

void watch_signals() {
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second one must work even when a disk hangs
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  set_interrupt_hook([] {
    if (seen != 0) throw CancelledError("interrupted");
  });
}

int signal_seen() { return seen; }

}  // namespace lowtide::cli
