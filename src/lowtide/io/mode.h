// How bytes are moved between a file and memory: a ladder, the best rung first.
//
//   uring       io_uring and O_DIRECT: hundreds of requests in flight, nothing left in the page cache
//   threads     the same requests as O_DIRECT preads on a small pool: where a sandbox forbids io_uring
//   dontcache   buffered, RWF_DONTCACHE: where a file system has no direct IO
//   buffered    buffered, and the pages are dropped behind each request
//
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lowtide::io {

enum class Mode : std::uint8_t { uring, threads, dontcache, buffered };

std::string_view name(Mode mode);
// The LOWTIDE_IO environment variable: nullopt for "auto" or unset. Throws std::invalid_argument for an unknown word.
std::optional<Mode> forced_mode();
constexpr bool is_direct(Mode mode) { return mode == Mode::uring || mode == Mode::threads; }
// What bytes in flight have to be paid with: through the page cache, each has a twin there until its request is done.
constexpr std::uint64_t bytes_in_flight(Mode mode, std::uint64_t bytes) { return is_direct(mode) ? bytes : 2 * bytes; }
// The reverse: how much can be in flight in memory that was paid for.
constexpr std::uint64_t memory_in_flight(Mode mode, std::uint64_t paid) { return is_direct(mode) ? paid : paid / 2; }

// Whether this process may use io_uring: asked once with a real ring. The reason is empty when it may.
bool uring_available();
std::string uring_refusal();

}  // namespace lowtide::io
