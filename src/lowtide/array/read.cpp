#include "lowtide/array/read.h"

#include <algorithm>

#include "lowtide/array/gather.h"
#include "lowtide/array/range.h"
#include "lowtide/kernels/byteswap.h"

namespace lowtide {
namespace {

Buffer as_buffer(Block block, std::uint64_t skip, const Source& source, const Selection& selection) {
  auto owner = std::make_shared<Block>(std::move(block));
  std::byte* data = owner->data() + skip;
  return Buffer(std::move(owner), data, selection.shape(), source.layout.dtype);
}

void to_native(const Source& source, std::byte* data, std::int64_t count) {
  if (source.layout.endian != native_endian) byteswap(data, source.layout.dtype, static_cast<std::size_t>(count));
}

Buffer read_contiguous(const Source& source, const Selection& selection) {
  io::File& file = *source.file;
  const auto offset = static_cast<std::uint64_t>(selection.base());
  const std::uint64_t bytes = selection.size_bytes();
  const Span span = whole_units(offset, bytes);
  const std::uint64_t in_flight = std::min(least_in_flight_bytes(file), span.bytes());
  Lease lease = Budget::process().take(span.bytes() + in_flight, Purpose::results, "reading " + file.path());
  Lease paced = lease.split(in_flight, Purpose::staging);
  if (const std::uint64_t most = std::min(most_in_flight_bytes(file), span.bytes()); most > in_flight) {
    paced.absorb(Budget::process().try_take_between(page_bytes, most - in_flight, Purpose::staging));
  }
  Block block = Block::allocate(std::move(lease));
  const bool served = bytes <= ReadAhead::most_bytes && source.read_ahead->serve(file, offset, bytes, block.data() + (offset - span.begin));
  if (!served) read_range(file, block.data(), offset, bytes, paced);
  return as_buffer(std::move(block), offset - span.begin, source, selection);
}

Buffer read_gathered(const Source& source, const Selection& selection) {
  io::File& file = *source.file;
  const Walk walk = make_walk(selection, dense_strides(selection.shape(), selection.itemsize()));
  const GatherNeeds needs = gather_needs(file, walk);
  Lease lease = Budget::process().take(round_up(selection.size_bytes(), page_bytes) + needs.least_bytes,
                                       Purpose::results, "reading " + file.path());
  Staging staging(needs.most_bytes, lease.split(needs.least_bytes, Purpose::staging));
  Block block = Block::allocate(std::move(lease));
  gather(file, walk, block.data(), staging);
  return as_buffer(std::move(block), 0, source, selection);
}

}  // namespace

std::vector<std::int64_t> dense_strides(const Shape& shape, std::size_t itemsize) {
  std::vector<std::int64_t> strides(shape.size());
  auto step = static_cast<std::int64_t>(itemsize);
  for (std::size_t i = shape.size(); i > 0; --i) {
    strides[i - 1] = step;
    step *= std::max<std::int64_t>(shape[i - 1], 1);
  }
  return strides;
}

Buffer read_selection(const Source& source, const Selection& selection) {
  if (selection.size() == 0) return Buffer(nullptr, nullptr, selection.shape(), source.layout.dtype);
  const io::File::Pin pin = source.file->pin();
  source.check_unchanged();
  Buffer buffer = selection.contiguous() ? read_contiguous(source, selection) : read_gathered(source, selection);
  source.check_unchanged();
  to_native(source, buffer.data(), buffer.size());
  return buffer;
}

void read_selection_into(const Source& source, const Selection& selection, std::byte* memory, Staging& staging) {
  if (selection.size() == 0) return;
  const io::File::Pin pin = source.file->pin();
  source.check_unchanged();
  gather(*source.file, make_walk(selection, dense_strides(selection.shape(), selection.itemsize())), memory, staging);
  source.check_unchanged();
  to_native(source, memory, selection.size());
}

}  // namespace lowtide
