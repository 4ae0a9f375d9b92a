#include "lowtide/array/read.h"

#include <algorithm>

#include "lowtide/array/gather.h"
#include "lowtide/array/range.h"
#include "lowtide/array/warm_gather.h"
#include "lowtide/array/warm_maps.h"
#include "lowtide/kernels/byteswap.h"

namespace lowtide {
namespace {

// What stands around a result's bytes in C++ and Python (0.8 KiB seen): a million small results held are 800 MiB of it.
constexpr std::uint64_t object_bytes = 1024;

struct Result {
  Block block;
  Lease objects;
};

Buffer as_buffer(Block block, Lease objects, std::uint64_t skip, Shape shape, DType dtype) {
  std::byte* data = block.data() + skip;
  std::shared_ptr<void> owner(new Result{std::move(block), std::move(objects)}, [](void* pointer) {
    const std::unique_ptr<Result> dropped(static_cast<Result*>(pointer));
    SpareBlocks::process().give(std::move(dropped->block));  // a loop over batches faults its memory in once
  });
  return Buffer(std::move(owner), data, std::move(shape), dtype);
}

void to_native(const Source& source, std::byte* data, std::int64_t count) {
  if (source.layout.endian != native_endian) byteswap(data, source.layout.dtype, static_cast<std::size_t>(count));
}

bool copy_warm(io::File& file, std::byte* out, std::uint64_t offset, std::uint64_t bytes) {
  const auto map = WarmMaps::process().find(file);
  const io::WarmMap::Copy copy{out, offset, bytes};
  return map && map->copy({&copy, 1});
}

Buffer read_contiguous(const Source& source, const Selection& selection) {
  io::File& file = *source.file;
  const auto offset = static_cast<std::uint64_t>(selection.base());
  const std::uint64_t bytes = selection.size_bytes();
  const Span span = whole_units(offset, bytes);
  const std::uint64_t in_flight = std::min(least_in_flight_bytes(file), span.bytes());
  Lease lease =
      Budget::process().take(span.bytes() + in_flight + object_bytes, Purpose::results, "reading " + file.path());
  Lease objects = lease.split(object_bytes, Purpose::results);
  Lease paced = lease.split(in_flight, Purpose::staging);
  if (const std::uint64_t most = std::min(most_in_flight_bytes(file), span.bytes()); most > in_flight) {
    paced.absorb(Budget::process().try_take_between(page_bytes, most - in_flight, Purpose::staging));
  }
  Block block = SpareBlocks::process().take_exactly(std::move(lease));
  std::byte* out = block.data() + (offset - span.begin);
  const bool small = bytes <= ReadAhead::most_bytes;  // a large copy is as fast through the kernel
  // Stores through somebody's map leave no trace that a buffered mode would see: what is live is not kept there.
  const bool may_keep = !source.live || io::is_direct(file.mode());
  const bool served = small && (copy_warm(file, out, offset, bytes) ||
                                (may_keep && source.read_ahead->serve(file, offset, bytes, out)));
  if (!served) read_range(file, block.data(), offset, bytes, paced);
  return as_buffer(std::move(block), std::move(objects), offset - span.begin, selection.shape(), source.layout.dtype);
}

Buffer read_gathered(const Source& source, const Selection& selection) {
  io::File& file = *source.file;
  const Walk walk = make_walk(selection, dense_strides(selection.shape(), selection.itemsize()));
  const GatherNeeds needs = gather_needs(file, walk);
  Lease lease = Budget::process().take(round_up(selection.size_bytes(), page_bytes) + needs.least_bytes + object_bytes,
                                       Purpose::results, "reading " + file.path());
  Lease objects = lease.split(object_bytes, Purpose::results);
  Lease for_staging = lease.split(needs.least_bytes, Purpose::staging);
  Block block = SpareBlocks::process().take_exactly(std::move(lease));
  if (!gather_warm(file, walk, block.data())) {
    Staging staging(needs.most_bytes, std::move(for_staging));
    gather(file, walk, block.data(), staging);
  }
  return as_buffer(std::move(block), std::move(objects), 0, selection.shape(), source.layout.dtype);
}

}  // namespace

Buffer new_buffer(const Shape& shape, DType dtype) {
  const std::uint64_t bytes = checked_bytes(shape, dtype, "a result");
  if (bytes == 0) return Buffer(nullptr, nullptr, shape, dtype);
  Lease lease = Budget::process().take(round_up(bytes, page_bytes) + object_bytes, Purpose::results, "a result");
  Lease objects = lease.split(object_bytes, Purpose::results);
  return as_buffer(SpareBlocks::process().take_exactly(std::move(lease)), std::move(objects), 0, shape, dtype);
}

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
  const Walk walk = make_walk(selection, dense_strides(selection.shape(), selection.itemsize()));
  if (!gather_warm(*source.file, walk, memory)) gather(*source.file, walk, memory, staging);
  source.check_unchanged();
  to_native(source, memory, selection.size());
}

}  // namespace lowtide
