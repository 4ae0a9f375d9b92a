#include "lowtide/array/range.h"

#include <algorithm>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/io/transfer.h"
#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

constexpr std::uint64_t least_buffered_bytes = 64_KiB;
constexpr std::uint64_t most_buffered_bytes = 8_MiB;
// Below this one synchronous request beats a queue.
constexpr std::uint64_t single_request_bytes = 256_KiB;

}  // namespace

Span whole_units(std::uint64_t offset, std::uint64_t bytes, std::uint64_t unit) {
  return {round_down(offset, unit), round_up(offset + bytes, unit)};
}

std::uint64_t least_in_flight_bytes(const io::File& file) {
  return io::is_direct(file.mode()) ? 0 : least_buffered_bytes;
}
std::uint64_t most_in_flight_bytes(const io::File& file) {
  return io::is_direct(file.mode()) ? 0 : most_buffered_bytes;
}

RangeRequests::RangeRequests(io::File& file, std::byte* memory, std::uint64_t offset, std::uint64_t bytes,
                             std::uint32_t request_bytes, std::uint64_t tag)
    : file_(file),
      memory_(memory),
      span_(whole_units(offset, bytes)),
      wanted_end_(offset + bytes),
      at_(span_.begin),
      request_bytes_(request_bytes),
      tag_(tag) {}

bool RangeRequests::next(io::Request& out) {
  if (at_ >= span_.end) return false;
  const std::uint64_t bytes = std::min<std::uint64_t>(request_bytes_, span_.end - at_);
  out = {.file = &file_,
         .kind = io::Request::Kind::read,
         .memory = memory_ + (at_ - span_.begin),
         .offset = at_,
         .bytes = static_cast<std::uint32_t>(bytes),
         .least_bytes = static_cast<std::uint32_t>(std::min(at_ + bytes, wanted_end_) - at_),
         .tag = tag_};
  at_ += bytes;
  return true;
}

void read_range(io::File& file, std::byte* memory, std::uint64_t offset, std::uint64_t bytes, const Lease& in_flight) {
  const bool direct = io::is_direct(file.mode());
  std::uint32_t request_bytes = scan_request_bytes;
  std::size_t depth = scan_depth;
  if (!direct) {
    request_bytes =
        static_cast<std::uint32_t>(std::clamp(round_down(in_flight.bytes() / 4, page_bytes), 16_KiB, 1_MiB));
    depth = std::max<std::size_t>(1, in_flight.bytes() / request_bytes);
  }
  RangeRequests requests(file, memory, offset, bytes, request_bytes, 0);
  io::Request request;
  if (whole_units(offset, bytes).bytes() <= std::min<std::uint64_t>(single_request_bytes, request_bytes)) {
    if (!requests.next(request)) return;
    if (file.is_cached(request.offset, request.least_bytes)) {
      io::read_cached_fully(file, request.memory, request.offset, request.least_bytes);
    } else {
      io::read_fully(file, request.memory, request.offset, request.bytes, request.least_bytes);
    }
    return;
  }
  io::Queue queue(file.mode());
  const auto settle = [&](std::span<const io::Completion> completions) {
    for (const auto& c : completions) {
      if (c.error != 0) io::fail_request(file, true, c.error, c.tag, bytes, c.bytes);
    }
  };
  while (requests.next(request)) {
    if (file.is_cached(request.offset, request.least_bytes)) {
      io::read_cached_fully(file, request.memory, request.offset, request.least_bytes);
      interrupt_point();
      continue;
    }
    if (queue.in_flight() >= depth) settle(queue.wait());
    request.tag = request.offset;
    queue.push(request);
  }
  while (queue.in_flight() > 0) settle(queue.wait());
}

}  // namespace lowtide
