// lowtide::open: a file becomes an array once its header and size agree.
#include <fmt/format.h>

#include "lowtide/array.h"
#include "lowtide/array/prepare.h"
#include "lowtide/array/state.h"
#include "lowtide/error.h"
#include "lowtide/formats/npy/npy.h"
#include "lowtide/formats/raw/raw.h"
#include "lowtide/io/transfer.h"
#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

// Headers longer than what File::open has read are rare: structured or padded ones.
Layout npy_layout(io::File& file, const std::vector<std::byte>& head) {
  const std::size_t bytes = npy::header_bytes(head, file.path());
  if (bytes <= head.size()) return npy::parse(std::span(head).first(bytes), file.size_bytes(), file.path());
  if (bytes > file.size_bytes()) {
    throw FormatError(
        fmt::format("{}: the npy header is {} bytes long but the file has {}", file.path(), bytes, file.size_bytes()));
  }
  const std::uint64_t room = round_up(bytes, page_bytes);
  const Block block = Block::allocate(Budget::process().take(room, Purpose::staging, "opening " + file.path()));
  io::read_fully(file, block.data(), 0, room, bytes);
  return npy::parse(std::span(block.data(), bytes), file.size_bytes(), file.path());
}

[[noreturn]] void refuse_unknown(const io::File& file) {
  const bool named_npy = file.path().ends_with(".npy");
  throw FormatError(fmt::format(
      "{}: {}. If it holds bare numbers, say which: open(\"{}\", dtype=\"uint16\")", file.path(),
      named_npy ? "named .npy, but it has no npy header" : "the format is not one lowtide knows by its content",
      file.path()));
}

}  // namespace

Array open(const std::string& path, const OpenOptions& options) {
  prepare_process();
  const io::Access access = options.mode == Mode::read ? io::Access::read : io::Access::read_write;
  auto file = io::File::open(path, access);
  const io::File::Pin pin = file->pin();
  const std::vector<std::byte> head = file->take_head();
  Layout layout;
  if (options.dtype || options.shape || options.offset > 0) {
    raw::Spec spec;
    spec.dtype = options.dtype.value_or(DType::uint8);
    spec.endian = options.endian;
    spec.order = options.order;
    spec.shape = options.shape.value_or(Shape{-1});
    spec.offset = options.offset;
    layout = raw::describe(spec, file->size_bytes(), path);
  } else if (npy::sniff(head)) {
    layout = npy_layout(*file, head);
  } else {
    refuse_unknown(*file);
  }
  ArrayState state{{std::move(file), std::move(layout), options.live}, {}, options.mode == Mode::read_write};
  state.selection = Selection::whole(state.source.layout);
  return Array(std::make_shared<const ArrayState>(std::move(state)));
}

}  // namespace lowtide
