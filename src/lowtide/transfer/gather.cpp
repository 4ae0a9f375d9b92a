#include "lowtide/transfer/gather.h"

#include <algorithm>
#include <array>

#include "lowtide/base/units.h"
#include "lowtide/transfer/driver.h"
#include "lowtide/transfer/pieces.h"

namespace lowtide {
namespace {

constexpr std::uint64_t most_staging_bytes = 16_MiB;
constexpr std::uint64_t least_dense_piece_bytes = 64_KiB;  // a long contiguous run may be cut this small, not smaller
constexpr std::uint64_t merge_slot_bytes = 128_KiB;        // room for neighbours to join, where there is memory for it

// The slot that a piece of this size needs when it starts anywhere in a unit.
std::uint64_t slot_for(std::uint64_t piece_bytes) { return round_up(piece_bytes, io::direct_align) + io::direct_align; }

std::uint64_t preferred_piece(const Walk& walk) {
  return std::min<std::uint64_t>(walk.run_span_bytes, static_cast<std::uint64_t>(longest_run_bytes));
}
std::uint64_t least_piece(const Walk& walk) {
  if (!walk.run_is_dense) return walk.run_span_bytes;
  return std::min(walk.run_span_bytes, std::max<std::uint64_t>(least_dense_piece_bytes, walk.itemsize));
}
GatherNeeds paid(const io::File& file, std::uint64_t least, std::uint64_t most) {
  return {io::bytes_in_flight(file.mode(), least), io::bytes_in_flight(file.mode(), most)};
}

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
  return paid(file, least, most);
}

GatherNeeds gather_needs_of_any(const io::File& file) {
  return paid(file, slot_for(static_cast<std::uint64_t>(longest_run_bytes)), most_staging_bytes);
}

Slots divide(const io::File& file, const Walk& walk, std::uint64_t staging_bytes) {
  const std::uint64_t usable = io::memory_in_flight(file.mode(), staging_bytes);
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
        pieces_(walk, slots_.piece_bytes()),
        copy_(pieces_.walk()),
        batches_{Batch{ExtentBatch(pieces_.walk(), slots_.slot_bytes, file.read_unit()), 0},
                 Batch{ExtentBatch(pieces_.walk(), slots_.slot_bytes, file.read_unit()), 0}},
        driver_({.mode = file.mode(),
                 .depth = slots_.count,
                 .slots = {staging.data(), staging.size_bytes()},
                 .slot_bytes = slots_.slot_bytes},
                [this](const Arrival& arrival) { arrived(arrival); }) {}

  void run() {
    for (std::size_t current = 0;; current = 1 - current) {
      Batch& batch = batches_[current];
      while (batch.outstanding > 0) driver_.settle();  // its pieces are still needed
      if (!batch.extents.load(pieces_)) break;
      for (Extent extent; batch.extents.next(extent);) start(current, extent);
    }
    driver_.finish();
  }

 private:
  struct Batch {
    ExtentBatch extents;
    std::size_t outstanding;
  };

  void start(std::size_t batch, const Extent& extent) {
    Move move{.file = &file_, .extent = extent, .unit = file_.read_unit(), .tag = batch};
    const auto pieces = batches_[batch].extents.pieces(extent);
    if (copy_.contiguous() && pieces.size() == 1) move.place = memory_ + pieces[0].memory_offset;
    ++batches_[batch].outstanding;
    driver_.start(move);
  }

  void arrived(const Arrival& arrival) {
    arrival.check();
    Batch& batch = batches_[arrival.move.tag];
    --batch.outstanding;
    if (arrival.placed) return;
    for (const Run& piece : batch.extents.pieces(arrival.move.extent))
      copy_.to_memory(piece, arrival.memory, arrival.offset, memory_);
  }

  io::File& file_;
  std::byte* memory_;
  Slots slots_;
  PieceSource pieces_;
  PieceCopy copy_;
  std::array<Batch, 2> batches_;
  Driver driver_;
};

}  // namespace

void gather(io::File& file, const Walk& walk, std::byte* memory, Staging& staging) {
  if (walk.run_count > 0) Gather(file, walk, memory, staging).run();
}

}  // namespace lowtide
