#include "lowtide/transfer/range.h"

#include <algorithm>

#include "lowtide/base/units.h"
#include "lowtide/io/transfer.h"
#include "lowtide/memory/block.h"
#include "lowtide/transfer/cached_copy.h"

namespace lowtide {
namespace {

constexpr std::uint64_t least_paced_bytes = 64_KiB;
constexpr std::uint64_t most_paced_bytes = 8_MiB;
// Below this one synchronous request beats a queue.
constexpr std::uint64_t single_request_bytes = 256_KiB;

}  // namespace

std::uint64_t Pace::least_bytes(const io::File& file) { return io::is_direct(file.mode()) ? 0 : least_paced_bytes; }
std::uint64_t Pace::most_bytes(const io::File& file) { return io::is_direct(file.mode()) ? 0 : most_paced_bytes; }

Pace Pace::of(const io::File& file, const Lease& in_flight) {
  Pace pace;
  if (io::is_direct(file.mode())) return pace;
  pace.request_bytes =
      static_cast<std::uint32_t>(std::clamp(round_down(in_flight.bytes() / 4, page_bytes), 16_KiB, 1_MiB));
  pace.depth = std::max<std::size_t>(1, in_flight.bytes() / pace.request_bytes);
  return pace;
}

RangeMoves::RangeMoves(io::File& file, std::byte* memory, Span range, std::uint32_t move_bytes, std::uint64_t tag)
    : file_(file), memory_(memory), range_(range), at_(whole_units(range).begin), move_bytes_(move_bytes), tag_(tag) {}

bool RangeMoves::next(Move& out) {
  if (at_ >= range_.end) return false;
  const std::uint64_t end = std::min(at_ + move_bytes_, range_.end);
  out = {.file = &file_,
         .extent = {.begin = at_, .end = end},
         .memory = memory_ + (at_ - whole_units(range_).begin),
         .tag = tag_};
  at_ += move_bytes_;
  return true;
}

void read_range(io::File& file, std::byte* memory, std::uint64_t offset, std::uint64_t bytes, const Lease& in_flight) {
  const Span range{offset, offset + bytes};
  const Span span = whole_units(range);
  const Pace pace = Pace::of(file, in_flight);
  if (span.bytes() <= std::min<std::uint64_t>(single_request_bytes, pace.request_bytes)) {
    if (span.bytes() > 0 && !copy_cached(file, memory, {span.begin, range.end}))
      io::read_fully(file, memory, span.begin, span.bytes(), range.end - span.begin);
    return;
  }
  Driver driver({.mode = file.mode(), .depth = pace.depth}, [](const Arrival& arrival) { arrival.check(); });
  RangeMoves moves(file, memory, range, pace.request_bytes);
  for (Move move; moves.next(move);) driver.start(move);
  driver.finish();
}

}  // namespace lowtide
