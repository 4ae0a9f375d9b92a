#include "lowtide/array/read.h"

#include <utility>

#include "lowtide/formats/layout.h"
#include "lowtide/memory/operation.h"
#include "lowtide/source/file_source.h"

namespace lowtide {
namespace {

// What stands around a result's bytes in C++ and Python (0.8 KiB seen): a million small results held are 800 MiB of it.
constexpr std::uint64_t object_bytes = 1024;

struct Result {
  Block block;
  Lease objects;
};

std::string operation_of(const Source& source) {
  const FileSource* file = source.in_one_file();
  return std::string(file != nullptr && file->live() ? reading_a_map : reading_an_array) + source.name();
}

// What an operation holds is staging until it hands it out as a result: only then is it for its caller to keep.
Buffer as_buffer(Block block, Lease objects, std::uint64_t skip, Shape shape, DType dtype) {
  block.repurpose(Purpose::results);
  objects = objects.split(objects.bytes(), Purpose::results);
  std::byte* data = block.data() + skip;
  std::shared_ptr<void> owner(new Result{std::move(block), std::move(objects)}, [](void* pointer) {
    const std::unique_ptr<Result> dropped(static_cast<Result*>(pointer));
    SpareBlocks::process().give(std::move(dropped->block));  // a loop over batches faults its memory in once
  });
  return Buffer(std::move(owner), data, std::move(shape), dtype);
}

}  // namespace

Buffer new_buffer(const Shape& shape, DType dtype) {
  const std::uint64_t bytes = checked_bytes(shape, dtype, "a result");
  if (bytes == 0) return Buffer(nullptr, nullptr, shape, dtype);
  Lease lease = Budget::process().take(round_up(bytes, page_bytes) + object_bytes, Purpose::results, "a result");
  Lease objects = lease.split(object_bytes, Purpose::results);
  return as_buffer(SpareBlocks::process().take_exactly(std::move(lease)), std::move(objects), 0, shape, dtype);
}

Buffer read_selection(const Source& source, Selection selection) {
  Shape shape = selection.shape();
  if (selection.size() == 0) return Buffer(nullptr, nullptr, std::move(shape), source.dtype());
  const std::size_t item = itemsize(source.dtype());
  const std::uint64_t bytes = static_cast<std::uint64_t>(selection.size()) * item;
  Box box = Box::dense(std::move(selection), item);
  box.has_room_around = true;
  const Needs needs = source.needs(box);
  const std::uint64_t room = round_up(needs.before_bytes + bytes + needs.after_bytes, page_bytes);
  Lease lease = Budget::process().take(room + needs.least_bytes + object_bytes, Purpose::staging, operation_of(source));
  Lease objects = lease.split(object_bytes, Purpose::staging);
  Workspace workspace(needs, lease.split(needs.least_bytes, Purpose::staging));
  Block block = SpareBlocks::process().take_exactly(std::move(lease));
  box.memory = block.data() + needs.before_bytes;
  source.read(box, workspace);
  return as_buffer(std::move(block), std::move(objects), needs.before_bytes, std::move(shape), source.dtype());
}

}  // namespace lowtide
