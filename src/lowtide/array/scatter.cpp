// Writing in place: extents are read where they are not wholly overwritten, changed in memory, and written back, a group at a time.
#include <algorithm>

#include "lowtide/array/gather.h"
#include "lowtide/array/pieces.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/io/queue.h"
#include "lowtide/io/transfer.h"

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
        queue_(file.mode()) {}

  void run() {
    while (batch_.load(pieces_)) {
      Extent extent;
      bool more = batch_.next(extent);
      while (more) {
        group_.clear();
        // Two extents that share a unit cannot be in one group: the second must see what the first wrote.
        while (more && group_.size() < slots_.count &&
               (group_.empty() || group_.back().span.end <= extent.span.begin)) {
          group_.push_back(extent);
          more = batch_.next(extent);
        }
        write_group();
      }
    }
  }

 private:
  std::byte* room(std::size_t i) const { return staging_ + i * slots_.slot_bytes; }

  void write_group() {
    for (std::size_t i = 0; i < group_.size(); ++i) read_what_stays(i);
    wait_all();
    for (std::size_t i = 0; i < group_.size(); ++i) {
      for (const Run& piece : batch_.pieces(group_[i])) copy_.to_slot(piece, room(i), group_[i].span.begin, memory_);
      write_back(i);
    }
    wait_all();
    interrupt_point();
  }

  void read_what_stays(std::size_t i) {
    const Extent& e = group_[i];
    if (!e.gapless) return read(i, e.span.begin, e.span.end);
    const std::uint64_t head_end = e.span.begin + io::direct_align;
    const std::uint64_t tail_begin = e.span.end - io::direct_align;
    const bool keep_head = e.begin > e.span.begin;
    const bool keep_tail = e.end < e.span.end && e.end < file_bytes_;
    if (keep_head) read(i, e.span.begin, head_end);
    if (keep_tail && !(keep_head && tail_begin < head_end)) read(i, tail_begin, e.span.end);
  }

  void read(std::size_t i, std::uint64_t begin, std::uint64_t end) {
    push(io::Request::Kind::read, i, begin, end, std::min(end, file_bytes_) - begin);
  }

  void write_back(std::size_t i) {
    const Extent& e = group_[i];
    const std::uint64_t end = std::min(e.span.end, file_bytes_);
    if (!io::is_direct(file_.mode())) return push(io::Request::Kind::write, i, e.span.begin, end, 0);
    // Direct IO would round the file's length up: its last odd bytes go through the page cache.
    const std::uint64_t whole_end = round_down(end, io::direct_align);
    if (whole_end > e.span.begin) push(io::Request::Kind::write, i, e.span.begin, whole_end, 0);
    if (whole_end < end)
      io::write_cached_fully(file_, room(i) + (whole_end - e.span.begin), whole_end, end - whole_end);
  }

  void push(io::Request::Kind kind, std::size_t i, std::uint64_t begin, std::uint64_t end, std::uint64_t least) {
    while (queue_.in_flight() >= io::Queue::max_depth - 1) settle();
    queue_.push({.file = &file_,
                 .kind = kind,
                 .memory = room(i) + (begin - group_[i].span.begin),
                 .offset = begin,
                 .bytes = static_cast<std::uint32_t>(end - begin),
                 .least_bytes = static_cast<std::uint32_t>(least),
                 .tag = begin});
    reading_ = kind == io::Request::Kind::read;
  }

  void settle() {
    for (const io::Completion& c : queue_.wait()) {
      if (c.error != 0) io::fail_request(file_, reading_, c.error, c.tag, slots_.slot_bytes, c.bytes);
    }
  }
  void wait_all() {
    while (queue_.in_flight() > 0) settle();
  }

  io::File& file_;
  const std::byte* memory_;
  std::uint64_t file_bytes_;
  Slots slots_;
  std::byte* staging_;
  PieceSource pieces_;
  PieceCopy copy_;
  ExtentBatch batch_;
  std::vector<Extent> group_;
  bool reading_ = true;
  io::Queue queue_;
};

}  // namespace

void scatter(io::File& file, const Walk& walk, const std::byte* memory, Staging& staging) {
  if (walk.run_count > 0) Scatter(file, walk, memory, staging).run();
}

}  // namespace lowtide
