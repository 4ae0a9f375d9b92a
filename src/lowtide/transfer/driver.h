// The one driver of requests: extents of any number of files in, many of them in flight, each handed over as it arrives.
//
//   Driver driver({.mode = file.mode(), .depth = 128, .slots = staging, .slot_bytes = 64_KiB},
//                 [&](const Arrival& a) { a.check(); …a.memory holds the file from a.offset on… });
//   for (const Extent& extent : extents) driver.start({.file = &file, .extent = extent});
//   driver.finish();
//
// A move goes to or from the caller's memory, or into one of the driver's slots, which is free again when the receiver returns. Reads of
// what is in the page cache are copied from there and arrive before start() returns. Short transfers, EINTR and EAGAIN are dealt with below.
// Whatever ends the driver (an error, Ctrl-C) waits for what is in flight: declare memory before it.
//
// The receiver gets errors, too, and may throw: whoever waits then sees it, after all else that came with it has been received.
// REQUIRES: it does not call the driver.
//
// Memory in flight is paid for by whoever brings it; io::bytes_in_flight() says how much that is.
//
// Not thread-safe: one thread at a time, any thread. Blocks: start() while the driver is full, settle() and finish(); interruptible.
// After fork() a child may only destroy its parent's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "lowtide/io/queue.h"
#include "lowtide/transfer/extent.h"

namespace lowtide {

struct Move {
  io::File* file = nullptr;  // REQUIRES: pinned until it has arrived, unless the driver pins
  io::Request::Kind kind = io::Request::Kind::read;
  Extent extent;  // a read moves the whole units around it, a write exactly its bytes
  std::uint64_t unit = io::direct_align;
  std::byte* memory = nullptr;  // for what is moved; nullptr: a slot
  std::byte* place = nullptr;   // where the extent itself is wanted in the end: what is cached goes straight there
  std::uint64_t tag = 0;        // the caller's own
};

struct Arrival {
  const Move& move;
  std::byte* memory = nullptr;  // holds the file from `offset` on
  std::uint64_t offset = 0;
  bool placed = false;  // it is in move.place already
  int error = 0;        // as in io::Completion
  std::uint32_t got_bytes = 0;

  void check() const;  // throws what the error means, if there is one
};

class Driver {
 public:
  struct Options {
    io::Mode mode = io::Mode::buffered;
    std::size_t depth = 0;            // moves in flight, at most; where there are slots: no more than those
    std::span<std::byte> slots = {};  // aligned for direct IO
    std::uint64_t slot_bytes = 0;
    bool pin = false;  // files while they are read, because the caller does not
    bool maps = true;  // files are few enough to be worth a map each while parts of them are cached
  };
  using Receiver = std::function<void(const Arrival&)>;

  Driver(const Options& options, Receiver receiver);

  // True if it has arrived already. Throws before it has begun, or not at all.
  bool start(const Move& move);
  void settle();  // until one has arrived at least; at once if none is in flight
  void finish();  // until all have
  void look();    // finish(), for a second at most, and runs no hook
  bool full() const { return free_.empty() && entries_.size() == depth_; }
  std::size_t in_flight() const { return queue_.in_flight(); }

 private:
  struct Entry {
    Move move;
    std::byte* memory = nullptr;
    std::uint64_t offset = 0;
    std::optional<io::File::Pin> pin;
  };
  bool copy_cached(const Entry& entry);
  void receive(std::span<const io::Completion> completions);

  std::byte* slots_;
  std::uint64_t slot_bytes_;
  std::size_t depth_;
  bool pin_, maps_;
  Receiver receiver_;
  std::vector<Entry> entries_;  // by tag of the queue's requests
  std::vector<std::size_t> free_;
  io::Queue queue_;
};

}  // namespace lowtide
