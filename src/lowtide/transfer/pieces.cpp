#include "lowtide/transfer/pieces.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "lowtide/kernels/copy.h"

namespace lowtide {
namespace {

constexpr std::uint64_t most_grown_pieces = 512 * 1024;
constexpr std::uint64_t least_grown_bytes = 8 * ExtentBatch::most_pieces * sizeof(Run);
constexpr std::uint64_t spare_share = 4;  // of what is to spare: others work too

bool by_offset(const Run& a, const Run& b) { return a.file_offset < b.file_offset; }

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
  at_ = 0;
  few_.resize(many_ ? 0 : most_pieces);
  const std::span<Run> room = many_ ? half(0) : few_;
  pieces_ = room.first(source.next(room));
  if (std::is_sorted(pieces_.begin(), pieces_.end(), by_offset)) return !pieces_.empty();
  if (!many_ && pieces_.size() == most_pieces && walk_->run_span_bytes < unit_) grow(source);
  sort();
  return true;
}

void ExtentBatch::grow(PieceSource& source) {
  Budget& budget = Budget::process();
  const auto wanted = std::min(static_cast<std::uint64_t>(walk_->run_count), most_grown_pieces);
  const std::uint64_t most = std::min(2 * wanted * sizeof(Run), budget.spare_bytes() / spare_share);
  Lease lease = budget.try_take_between(least_grown_bytes, round_down(most, page_bytes), Purpose::staging);
  if (!lease) return;
  many_.emplace(lease.bytes(), std::move(lease));
  const std::span<Run> room = half(0);
  std::copy(pieces_.begin(), pieces_.end(), room.begin());
  pieces_ = room.first(most_pieces + source.next(room.subspan(most_pieces)));
}

std::span<Run> ExtentBatch::half(std::size_t which) const {
  const std::size_t count = many_->size_bytes() / 2 / sizeof(Run);
  return std::span(reinterpret_cast<Run*>(many_->data()) + which * count, count);
}

// Stable: of two writes to one place the later must win. In memory that is paid for, which std::stable_sort of all would not be.
void ExtentBatch::sort() {
  const std::size_t count = pieces_.size();
  for (std::size_t begin = 0; begin < count; begin += most_pieces) {
    const auto part = pieces_.subspan(begin, std::min(most_pieces, count - begin));
    std::stable_sort(part.begin(), part.end(), by_offset);
  }
  if (count <= most_pieces) return;
  std::span<Run> from = half(0).first(count);
  std::span<Run> to = half(1).first(count);
  for (std::size_t width = most_pieces; width < count; width *= 2) {
    for (std::size_t begin = 0; begin < count; begin += 2 * width) {
      const auto left = from.subspan(begin, std::min(width, count - begin));
      const auto right = from.subspan(begin + left.size(), std::min(width, count - begin - left.size()));
      std::merge(left.begin(), left.end(), right.begin(), right.end(), to.subspan(begin).begin(), by_offset);
    }
    std::swap(from, to);
  }
  pieces_ = from;
}

bool ExtentBatch::next(Extent& extent) {
  if (at_ == pieces_.size()) return false;
  const auto range_of = [&](const Run& piece) {
    const auto begin = static_cast<std::uint64_t>(piece.file_offset);
    return Span{begin, begin + walk_->span_bytes(piece)};
  };
  const Span first = range_of(pieces_[at_]);
  extent = {first.begin, first.end, at_, at_ + 1, walk_->run_is_dense};
  while (extent.last < pieces_.size() && extent.join(range_of(pieces_[extent.last]), slot_bytes_, unit_)) {
  }
  at_ = extent.last;
  assert(extent.units(unit_).bytes() <= slot_bytes_);
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
