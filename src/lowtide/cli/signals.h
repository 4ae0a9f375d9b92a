// Ctrl-C and SIGTERM: the first asks the work to stop and clean up, the second ends the process.
//
//   watch_signals();                    // main, once: from now on every wait in the library can throw CancelledError
//   signal_seen();                      // SIGINT, SIGTERM, or 0
//
// Thread-safe.
#pragma once

namespace lowtide::cli {

void watch_signals();
int signal_seen();

}  // namespace lowtide::cli
