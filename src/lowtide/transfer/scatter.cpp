// Writing in place: extents are read where they are not wholly overwritten, changed in memory, and written back, a group at a time.
#include <algorithm>

#include "lowtide/base/interrupt.h"
#include "lowtide/io/range_lock.h"
#include "lowtide/io/transfer.h"
#include "lowtide/transfer/driver.h"
#include "lowtide/transfer/gather.h"
#include "lowtide/transfer/pieces.h"

namespace lowtide {
namespace {

class Scatter {
 public:
  Scatter(io::File& file, const Walk& walk, const std::byte* memory, Staging& staging)
      : file_(file),
        memory_(memory),
        file_bytes_(file.size_bytes()),
        slots_(divide(file, walk, staging.size_bytes())),
        staging_(staging.data()),
        pieces_(walk, slots_.piece_bytes()),
        copy_(pieces_.walk()),
        batch_(pieces_.walk(), slots_.slot_bytes, io::direct_align),
        lock_(file),
        // No maps: each write makes another content of the file, and a map of the last one worthless.
        driver_({.mode = file.mode(), .depth = io::Queue::max_depth, .maps = false},
                [](const Arrival& arrival) { arrival.check(); }) {}

  void run() {
    while (batch_.load(pieces_)) {
      Extent extent;
      bool more = batch_.next(extent);
      while (more) {
        group_.clear();
        // Two extents that share a unit cannot be in one group: the second must see what the first wrote.
        while (more && group_.size() < slots_.count &&
               (group_.empty() || group_.back().span.end <= extent.units(io::direct_align).begin)) {
          group_.push_back({extent, extent.units(io::direct_align)});
          more = batch_.next(extent);
        }
        write_group();
      }
    }
  }

 private:
  struct Member {
    Extent extent;
    Span span;  // whole units
  };

  std::byte* room(std::size_t i) const { return staging_ + i * slots_.slot_bytes; }

  void write_group() {
    lock_shared_units();
    for (std::size_t i = 0; i < group_.size(); ++i) read_what_stays(i);
    driver_.finish();
    for (std::size_t i = 0; i < group_.size(); ++i) {
      const auto& [extent, span] = group_[i];
      for (const Run& piece : batch_.pieces(extent)) copy_.to_slot(piece, room(i), span.begin, memory_);
      write_back(i);
    }
    driver_.finish();
    lock_.give_back();
    interrupt_point();
  }

  // Units that hold bytes of others too, which another process may be writing now.
  static bool shares_head(const Member& m) { return m.extent.begin > m.span.begin; }
  bool shares_tail(const Member& m) const { return m.extent.end < m.span.end && m.extent.end < file_bytes_; }

  // One lock for a group, over all that it shares. Extents are in file order.
  void lock_shared_units() {
    std::uint64_t begin = file_bytes_;
    std::uint64_t end = 0;
    for (const Member& m : group_) {
      const bool head = !m.extent.gapless || shares_head(m);
      const bool tail = !m.extent.gapless || shares_tail(m);
      if (!head && !tail) continue;
      begin = std::min(begin, head ? m.span.begin : m.span.end - io::direct_align);
      end = tail ? m.span.end : m.span.begin + io::direct_align;
    }
    if (begin < end) lock_.take(begin, end);
  }

  void read_what_stays(std::size_t i) {
    const auto& [extent, span] = group_[i];
    if (!extent.gapless) return move(io::Request::Kind::read, i, span);
    const std::uint64_t head_end = span.begin + io::direct_align;
    const std::uint64_t tail_begin = span.end - io::direct_align;
    const bool keep_head = shares_head(group_[i]);
    const bool keep_tail = shares_tail(group_[i]);
    if (keep_head) move(io::Request::Kind::read, i, {span.begin, head_end});
    if (keep_tail && !(keep_head && tail_begin < head_end)) move(io::Request::Kind::read, i, {tail_begin, span.end});
  }

  void write_back(std::size_t i) {
    const Span span{group_[i].span.begin, std::min(group_[i].span.end, file_bytes_)};
    if (!io::is_direct(file_.mode())) return move(io::Request::Kind::write, i, span);
    // Direct IO would round the file's length up: its last odd bytes go through the page cache.
    const std::uint64_t whole_end = round_down(span.end, io::direct_align);
    if (whole_end > span.begin) move(io::Request::Kind::write, i, {span.begin, whole_end});
    if (whole_end < span.end)
      io::write_cached_fully(file_, room(i) + (whole_end - span.begin), whole_end, span.end - whole_end);
  }

  void move(io::Request::Kind kind, std::size_t i, Span range) {
    driver_.start({.file = &file_,
                   .kind = kind,
                   .extent = {.begin = range.begin, .end = std::min(range.end, file_bytes_)},
                   .memory = room(i) + (range.begin - group_[i].span.begin)});
  }

  io::File& file_;
  const std::byte* memory_;
  std::uint64_t file_bytes_;
  Slots slots_;
  std::byte* staging_;
  PieceSource pieces_;
  PieceCopy copy_;
  ExtentBatch batch_;
  std::vector<Member> group_;
  io::RangeLock lock_;  // given back when nothing is in flight any more: declared before the driver
  Driver driver_;
};

}  // namespace

void scatter(io::File& file, const Walk& walk, const std::byte* memory, Staging& staging) {
  if (walk.run_count > 0) Scatter(file, walk, memory, staging).run();
}

}  // namespace lowtide
