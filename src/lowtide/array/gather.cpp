#include "lowtide/array/gather.h"

#include <algorithm>
#include <array>

#include "lowtide/array/pieces.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/io/queue.h"
#include "lowtide/io/transfer.h"

namespace lowtide {
namespace {

constexpr std::uint64_t most_staging_bytes = 16_MiB;
constexpr std::uint64_t least_dense_piece_bytes = 64_KiB;  // a long contiguous run may be cut this small, not smaller
constexpr std::uint64_t merge_slot_bytes = 128_KiB;        // room for neighbours to join, where there is memory for it
constexpr std::uint64_t small_piece_bytes = 2_KiB;         // below this a system call costs more than a copy

// The slot that a piece of this size needs when it starts anywhere in a unit.
std::uint64_t slot_for(std::uint64_t piece_bytes) { return round_up(piece_bytes, io::direct_align) + io::direct_align; }

std::uint64_t preferred_piece(const Walk& walk) {
  return std::min<std::uint64_t>(walk.run_span_bytes, static_cast<std::uint64_t>(longest_run_bytes));
}
std::uint64_t least_piece(const Walk& walk) {
  if (!walk.run_is_dense) return walk.run_span_bytes;
  return std::min(walk.run_span_bytes, std::max<std::uint64_t>(least_dense_piece_bytes, walk.itemsize));
}
// Through the page cache, every byte in a slot has a twin there while it is in flight.
std::uint64_t bytes_per_byte(const io::File& file) { return io::is_direct(file.mode()) ? 1 : 2; }

std::size_t useful_depth(std::uint64_t piece_bytes) {
  if (piece_bytes <= 64_KiB) return 128;
  return piece_bytes <= 256_KiB ? 32 : 16;
}

}  // namespace

std::uint64_t Slots::piece_bytes() const { return slot_bytes - io::direct_align; }

GatherNeeds gather_needs(const io::File& file, const Walk& walk) {
  const std::uint64_t piece = preferred_piece(walk);
  const std::uint64_t least = slot_for(least_piece(walk));
  const std::uint64_t slot = std::max(slot_for(piece), std::min<std::uint64_t>(merge_slot_bytes, slot_for(piece) * 8));
  const std::uint64_t pieces_per_run = (walk.run_span_bytes + piece - 1) / std::max<std::uint64_t>(piece, 1);
  const std::uint64_t useful =
      std::min<std::uint64_t>(useful_depth(piece), static_cast<std::uint64_t>(walk.run_count) * pieces_per_run);
  const std::uint64_t most = std::clamp(slot * useful, least, std::max(least, most_staging_bytes));
  return {least * bytes_per_byte(file), most * bytes_per_byte(file)};
}

GatherNeeds gather_needs_of_any(const io::File& file) {
  return {slot_for(static_cast<std::uint64_t>(longest_run_bytes)) * bytes_per_byte(file),
          most_staging_bytes * bytes_per_byte(file)};
}

Slots divide(const io::File& file, const Walk& walk, std::uint64_t staging_bytes) {
  const std::uint64_t usable = staging_bytes / bytes_per_byte(file);
  const std::uint64_t piece = preferred_piece(walk);
  const std::uint64_t least = slot_for(least_piece(walk));
  const std::uint64_t share = round_down(usable / useful_depth(piece), io::direct_align);
  Slots slots;
  slots.slot_bytes = std::min(round_down(usable, io::direct_align),
                              std::max(least, std::min(share, std::max(slot_for(piece), merge_slot_bytes))));
  slots.count = std::clamp<std::size_t>(usable / slots.slot_bytes, 1, io::Queue::max_depth);
  return slots;
}

namespace {

class Gather {
 public:
  Gather(io::File& file, const Walk& walk, std::byte* memory, Staging& staging)
      : file_(file),
        memory_(memory),
        slots_(divide(file, walk, staging.size_bytes())),
        staging_(staging.data()),
        pieces_(walk, slots_.piece_bytes()),
        copy_(pieces_.walk()),
        batches_{Batch{ExtentBatch(pieces_.walk(), slots_.slot_bytes, file.read_unit()), 0},
                 Batch{ExtentBatch(pieces_.walk(), slots_.slot_bytes, file.read_unit()), 0}},
        in_slot_(slots_.count),
        queue_(file.mode()) {
    for (std::size_t i = slots_.count; i > 0; --i) free_.push_back(i - 1);
  }

  void run() {
    std::size_t current = 0;
    while (true) {
      Batch& other = batches_[1 - current];
      while (other.outstanding > 0) settle();  // its pieces are still needed
      if (!other.extents.load(pieces_)) break;
      current = 1 - current;
      for (Extent extent; other.extents.next(extent);) start(current, extent);
    }
    while (queue_.in_flight() > 0) settle();
  }

 private:
  struct Batch {
    ExtentBatch extents;
    std::size_t outstanding;
  };
  struct InSlot {
    Extent extent;
    std::size_t batch;
  };

  void start(std::size_t batch, const Extent& extent) {
    while (free_.empty()) settle();
    const std::size_t slot = free_.back();
    std::byte* room = staging_ + slot * slots_.slot_bytes;
    if (file_.is_cached(extent.begin, extent.end - extent.begin)) {
      copy_cached(batch, extent, room);
      interrupt_point();
      return;
    }
    free_.pop_back();
    in_slot_[slot] = {extent, batch};
    ++batches_[batch].outstanding;
    queue_.push({.file = &file_,
                 .kind = io::Request::Kind::read,
                 .memory = room,
                 .offset = extent.span.begin,
                 .bytes = static_cast<std::uint32_t>(extent.span.bytes()),
                 .least_bytes = static_cast<std::uint32_t>(extent.end - extent.span.begin),
                 .tag = slot});
  }

  void copy_cached(std::size_t batch, const Extent& extent, std::byte* room) {
    const auto pieces = batches_[batch].extents.pieces(extent);
    const std::uint64_t bytes = extent.end - extent.begin;
    if (copy_.contiguous() && bytes >= pieces.size() * small_piece_bytes) {
      for (const Run& piece : pieces) {
        io::read_cached_fully(file_, memory_ + piece.memory_offset, static_cast<std::uint64_t>(piece.file_offset),
                              copy_.bytes(piece));
      }
      return;
    }
    io::read_cached_fully(file_, room, extent.begin, bytes);
    for (const Run& piece : pieces) copy_.to_memory(piece, room, extent.begin, memory_);
  }

  void settle() {
    for (const io::Completion& c : queue_.wait()) {
      const std::size_t slot = c.tag;
      const InSlot& done = in_slot_[slot];
      if (c.error != 0)
        io::fail_request(file_, true, c.error, done.extent.begin, done.extent.end - done.extent.begin, c.bytes);
      const std::byte* room = staging_ + slot * slots_.slot_bytes;
      for (const Run& piece : batches_[done.batch].extents.pieces(done.extent))
        copy_.to_memory(piece, room, done.extent.span.begin, memory_);
      --batches_[done.batch].outstanding;
      free_.push_back(slot);
    }
  }

  io::File& file_;
  std::byte* memory_;
  Slots slots_;
  std::byte* staging_;
  PieceSource pieces_;
  PieceCopy copy_;
  std::array<Batch, 2> batches_;
  std::vector<InSlot> in_slot_;
  std::vector<std::size_t> free_;
  io::Queue queue_;
};

}  // namespace

void gather(io::File& file, const Walk& walk, std::byte* memory, Staging& staging) {
  if (walk.run_count > 0) Gather(file, walk, memory, staging).run();
}

}  // namespace lowtide
