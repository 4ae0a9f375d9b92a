// lowtide::open: a file becomes an array once its header and size agree.
#include <fmt/format.h>

#include "lowtide/array.h"
#include "lowtide/array/npy_open.h"
#include "lowtide/array/prepare.h"
#include "lowtide/array/state.h"
#include "lowtide/error.h"
#include "lowtide/formats/npy/npy.h"
#include "lowtide/formats/raw/raw.h"
#include "lowtide/formats/tokens/megatron.h"
#include "lowtide/formats/tokens/tokens.h"

namespace lowtide {
namespace {

[[noreturn]] void refuse_unknown(const io::File& file, std::span<const std::byte> head) {
  if (megatron::sniff(head)) {
    throw FormatError(fmt::format("{}: Megatron's index, no array: the tokens are in the .bin beside it", file.path()));
  }
  const bool named_npy = file.path().ends_with(".npy");
  throw FormatError(fmt::format(
      "{}: {}. If it holds bare numbers, say which: open(\"{}\", dtype=\"uint16\")", file.path(),
      named_npy ? "named .npy, but it has no npy header" : "the format is not one lowtide knows by its content",
      file.path()));
}

Layout told_layout(const OpenOptions& options, const io::File& file) {
  raw::Spec spec;
  spec.dtype = options.dtype.value_or(DType::uint8);
  spec.endian = options.endian;
  spec.order = options.order;
  spec.shape = options.shape.value_or(Shape{-1});
  spec.offset = options.offset;
  return raw::describe(spec, file.size_bytes(), file.path());
}

Layout sniffed_layout(io::File& file, std::span<const std::byte> head) {
  if (npy::sniff(head)) return npy_layout(file, head);
  if (auto layout = tokens::sniff(head, file.size_bytes(), file.path())) return *std::move(layout);
  refuse_unknown(file, head);
}

}  // namespace

Array open(const std::string& path, const OpenOptions& options) {
  prepare_process();
  const io::Access access = options.mode == Mode::read ? io::Access::read : io::Access::read_write;
  const auto file = io::File::open(path, access);  // outlives its pin, whatever throws
  const io::File::Pin pin = file->pin();
  const std::vector<std::byte> head = file->take_head();
  const bool told = options.dtype || options.shape || options.offset > 0;
  Layout layout = told ? told_layout(options, *file) : sniffed_layout(*file, head);
  ArrayState state{{file, std::move(layout), options.live}, {}, options.mode == Mode::read_write};
  state.selection = Selection::whole(state.source.layout);
  return Array(std::make_shared<const ArrayState>(std::move(state)));
}

}  // namespace lowtide
