// A walk cut into pieces that fit a slot of working memory, and the pieces merged into extents worth one request each.
//
//   PieceSource pieces(walk, slot_bytes - 2 * io::direct_align);
//   ExtentBatch batch(pieces.walk(), slot_bytes, unit);
//   while (batch.load(pieces))
//     for (Extent e; batch.next(e);) …            // batch.pieces(e), in file order, equal offsets in the order they were given
//
// Pieces are sorted by offset, a batch at a time; Extent says which of them join.
//
// A batch that jumps about costs as much of the file as it reaches over: a mask in C order on a Fortran-ordered file reaches over all of
// it, each time. Where pieces are smaller than a unit and out of order, batches therefore grow into what the budget has to spare.
//
// Not thread-safe. Memory: one batch of most_pieces, whatever the size of the selection; longer ones are paid for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lowtide/memory/spare_blocks.h"
#include "lowtide/transfer/extent.h"
#include "lowtide/transfer/walk.h"

namespace lowtide {

class PieceSource {
 public:
  // A dense run longer than `most_bytes` is cut; REQUIRES: a run with gaps is not longer.
  PieceSource(Walk walk, std::uint64_t most_bytes);
  PieceSource(const PieceSource&) = delete;
  PieceSource& operator=(const PieceSource&) = delete;

  const Walk& walk() const { return walk_; }
  std::size_t next(std::span<Run> pieces);

 private:
  Walk walk_;
  std::int64_t most_count_;  // of steps along the slowest axis of a run
  RunCursor cursor_;
  Run rest_{};  // what is left of a run that is being cut
};

class ExtentBatch {
 public:
  static constexpr std::size_t most_pieces = 4096;
  // `unit`: what extents begin and end on.
  ExtentBatch(const Walk& walk, std::uint64_t slot_bytes, std::uint64_t unit)
      : walk_(&walk), slot_bytes_(slot_bytes), unit_(unit) {}

  bool load(PieceSource& source);  // false when there is nothing left
  bool next(Extent& extent);
  std::span<const Run> pieces(const Extent& extent) const {
    return pieces_.subspan(extent.first, extent.last - extent.first);
  }

 private:
  void grow(PieceSource& source);
  void sort();
  // Halves of the larger memory: where pieces are loaded, and where they are merged to.
  std::span<Run> half(std::size_t which) const;

  const Walk* walk_;
  std::uint64_t slot_bytes_;
  std::uint64_t unit_;
  std::vector<Run> few_;
  std::optional<Staging> many_;
  std::span<Run> pieces_;  // of this batch
  std::size_t at_ = 0;
};

// Copies one piece between memory and a slot that holds the file from `slot_offset` on.
class PieceCopy {
 public:
  explicit PieceCopy(const Walk& walk);
  void to_memory(const Run& piece, const std::byte* slot, std::uint64_t slot_offset, std::byte* memory) const;
  void to_slot(const Run& piece, std::byte* slot, std::uint64_t slot_offset, const std::byte* memory) const;
  bool contiguous() const { return contiguous_; }  // one memcpy a piece
  std::uint64_t bytes(const Run& piece) const {
    return static_cast<std::uint64_t>(piece.count) * step_bytes_;
  }  // REQUIRES: contiguous()

 private:
  std::size_t itemsize_;
  bool contiguous_;
  std::uint64_t step_bytes_;
  Shape shape_;
  std::vector<std::int64_t> file_strides_, memory_strides_;
};

}  // namespace lowtide
