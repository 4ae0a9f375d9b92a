#include "lowtide/array/pieces.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "lowtide/kernels/copy.h"

namespace lowtide {
namespace {

// Until one step along the slowest axis of a dense run fits, that axis enumerates runs instead.
Walk with_steps_that_fit(Walk walk, std::uint64_t most_bytes) {
  while (walk.run_is_dense && walk.run.size() > 1 &&
         static_cast<std::uint64_t>(walk.run.front().file_stride) > most_bytes) {
    const WalkAxis slowest = walk.run.front();
    walk.run.erase(walk.run.begin());
    walk.outer.push_back(slowest);
    walk.run_count *= slowest.extent;
    walk.run_span_bytes = static_cast<std::uint64_t>(slowest.file_stride);
    walk.last_count = walk.run.front().extent;
  }
  return walk;
}

std::int64_t steps_within(const Walk& walk, std::uint64_t most_bytes) {
  if (!walk.run_is_dense || walk.run.empty() || walk.run_span_bytes <= most_bytes)
    return std::numeric_limits<std::int64_t>::max();
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(most_bytes) / walk.run.front().file_stride);
}

}  // namespace

PieceSource::PieceSource(Walk walk, std::uint64_t most_bytes)
    : walk_(with_steps_that_fit(std::move(walk), most_bytes)),
      most_count_(steps_within(walk_, most_bytes)),
      cursor_(walk_) {}

std::size_t PieceSource::next(std::span<Run> pieces) {
  if (most_count_ == std::numeric_limits<std::int64_t>::max()) return cursor_.next(pieces);
  const WalkAxis& axis = walk_.run.front();
  std::size_t n = 0;
  while (n < pieces.size()) {
    if (rest_.count == 0 && !cursor_.next(rest_)) break;
    const std::int64_t count = std::min(most_count_, rest_.count);
    pieces[n++] = {rest_.file_offset, rest_.memory_offset, count};
    rest_.file_offset += count * axis.file_stride;
    rest_.memory_offset += count * axis.memory_stride;
    rest_.count -= count;
  }
  return n;
}

bool ExtentBatch::load(PieceSource& source) {
  pieces_.resize(most_pieces);
  pieces_.resize(source.next(pieces_));
  at_ = 0;
  const auto by_offset = [](const Run& a, const Run& b) { return a.file_offset < b.file_offset; };
  // Stable: of two writes to one place the later must win.
  if (!std::is_sorted(pieces_.begin(), pieces_.end(), by_offset))
    std::stable_sort(pieces_.begin(), pieces_.end(), by_offset);
  return !pieces_.empty();
}

bool ExtentBatch::next(Extent& extent) {
  if (at_ == pieces_.size()) return false;
  const auto begin_of = [&](std::size_t i) { return static_cast<std::uint64_t>(pieces_[i].file_offset); };
  extent.first = at_;
  extent.begin = begin_of(at_);
  extent.end = extent.begin + walk_->span_bytes(pieces_[at_]);
  extent.gapless = walk_->run_is_dense;
  for (++at_; at_ < pieces_.size(); ++at_) {
    const std::uint64_t begin = begin_of(at_);
    const std::uint64_t end = std::max(extent.end, begin + walk_->span_bytes(pieces_[at_]));
    if (begin > extent.end + static_cast<std::uint64_t>(widest_gap_bytes)) break;
    if (whole_units(extent.begin, end - extent.begin, unit_).bytes() > slot_bytes_) break;
    extent.gapless = extent.gapless && begin <= extent.end;
    extent.end = end;
  }
  extent.last = at_;
  extent.span = whole_units(extent.begin, extent.end - extent.begin, unit_);
  assert(extent.span.bytes() <= slot_bytes_);
  return true;
}

PieceCopy::PieceCopy(const Walk& walk) : itemsize_(walk.itemsize), step_bytes_(walk.itemsize) {
  const auto item = static_cast<std::int64_t>(itemsize_);
  contiguous_ = walk.run.empty() ||
                (walk.run.size() == 1 && walk.run[0].file_stride == item && walk.run[0].memory_stride == item);
  for (const WalkAxis& axis : walk.run) {
    shape_.push_back(axis.extent);
    file_strides_.push_back(axis.file_stride);
    memory_strides_.push_back(axis.memory_stride);
  }
}

void PieceCopy::to_memory(const Run& piece, const std::byte* slot, std::uint64_t slot_offset, std::byte* memory) const {
  const std::byte* from = slot + (static_cast<std::uint64_t>(piece.file_offset) - slot_offset);
  std::byte* to = memory + piece.memory_offset;
  if (contiguous_) {
    std::copy_n(from, bytes(piece), to);
    return;
  }
  Shape shape = shape_;
  shape[0] = piece.count;
  copy_strided(to, memory_strides_, from, file_strides_, shape, itemsize_);
}

void PieceCopy::to_slot(const Run& piece, std::byte* slot, std::uint64_t slot_offset, const std::byte* memory) const {
  std::byte* to = slot + (static_cast<std::uint64_t>(piece.file_offset) - slot_offset);
  const std::byte* from = memory + piece.memory_offset;
  if (contiguous_) {
    std::copy_n(from, bytes(piece), to);
    return;
  }
  Shape shape = shape_;
  shape[0] = piece.count;
  copy_strided(to, file_strides_, from, memory_strides_, shape, itemsize_);
}

}  // namespace lowtide
