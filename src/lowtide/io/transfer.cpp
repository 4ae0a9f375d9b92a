#include "lowtide/io/transfer.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "lowtide/base/fault.h"
#include "lowtide/error.h"
#include "lowtide/io/queue.h"

namespace lowtide::io {
namespace {

// Repeats `move(done)` until `bytes` are moved or `least` are and no more come.
template <class Move>
void repeat(File& file, bool reading, bool whole_units, std::uint64_t offset, std::size_t bytes, std::size_t least,
            Move move) {
  std::size_t done = 0;
  int stalls = 0;
  while (done < bytes) {
    ssize_t n;
    if (const int error = fault::at(fault::Stage::submit); error > 0) {
      n = -error;
    } else {
      n = move(done);
    }
    const int fault = fault::at(fault::Stage::complete);
    if (fault > 0) n = -fault;
    if (fault == fault::give_short && n > static_cast<ssize_t>(direct_align)) n = direct_align;
    if (n == -EINTR || n == -EAGAIN) {
      if (++stalls > 1000) fail_request(file, reading, EAGAIN, offset + done, bytes - done, 0);
      continue;
    }
    if (n < 0) fail_request(file, reading, static_cast<int>(-n), offset + done, bytes - done, 0);
    const std::size_t before = done;
    done += static_cast<std::size_t>(n);
    if (done >= least) return;
    if (whole_units) done -= done % direct_align;
    stalls = done > before ? 0 : stalls + 1;
    if (stalls >= 3)
      fail_request(file, reading, reading ? end_of_file : ENOSPC, offset, least, before + static_cast<std::size_t>(n));
  }
}

}  // namespace

void fail_request(File& file, bool reading, int error, std::uint64_t offset, std::uint64_t wanted_bytes,
                  std::uint64_t got_bytes) {
  if (error != end_of_file) file.fail(reading ? "cannot read" : "cannot write", error, offset);
  file.check_unchanged();
  throw DataChangedError(fmt::format("{} ended early: wanted {} bytes at byte {}, got {}. It was truncated while open.",
                                     file.path(), wanted_bytes, offset, got_bytes));
}

void read_fully(File& file, std::byte* memory, std::uint64_t offset, std::size_t bytes, std::size_t least_bytes) {
  repeat(file, true, is_direct(file.mode()), offset, bytes, least_bytes,
         [&](std::size_t done) { return file.read(memory + done, offset + done, bytes - done); });
}

void write_fully(File& file, const std::byte* memory, std::uint64_t offset, std::size_t bytes) {
  repeat(file, false, is_direct(file.mode()), offset, bytes, bytes,
         [&](std::size_t done) { return file.write(memory + done, offset + done, bytes - done); });
}

void read_cached_fully(File& file, std::byte* memory, std::uint64_t offset, std::size_t bytes) {
  repeat(file, true, false, offset, bytes, bytes,
         [&](std::size_t done) { return file.read_cached(memory + done, offset + done, bytes - done); });
}

void write_cached_fully(File& file, const std::byte* memory, std::uint64_t offset, std::size_t bytes) {
  repeat(file, false, false, offset, bytes, bytes,
         [&](std::size_t done) { return file.write_cached(memory + done, offset + done, bytes - done); });
}

}  // namespace lowtide::io
