// lowtide::open: a file becomes an array once its header and size agree.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "lowtide/array.h"
#include "lowtide/array/prepare.h"
#include "lowtide/array/state.h"
#include "lowtide/error.h"
#include "lowtide/formats/raw/raw.h"
#include "lowtide/formats/registry.h"
#include "lowtide/source/file_source.h"
#include "lowtide/source/header.h"

namespace lowtide {
namespace {

[[noreturn]] void refuse_unknown(const io::File& file) {
  const bool named_npy = file.path().ends_with(".npy");
  throw FormatError(fmt::format(
      "{}: {}. If it holds bare numbers, say which: open(\"{}\", dtype=\"uint16\")", file.path(),
      named_npy ? "named .npy, but it has no npy header" : "the format is not one lowtide knows by its content",
      file.path()));
}

Layout raw_layout(const OpenOptions& options, const io::File& file) {
  if (!options.dtype) {
    throw std::invalid_argument(fmt::format(
        "{}: nothing says what its elements are: give a dtype beside the shape, offset or order", file.path()));
  }
  raw::Spec spec;
  spec.dtype = *options.dtype;
  spec.endian = options.endian;
  spec.order = options.order.value_or(Order::c);
  spec.shape = options.shape.value_or(Shape{-1});
  spec.offset = options.offset;
  return raw::describe(spec, file.size_bytes(), file.path());
}

bool fits(const Shape& told, const Shape& found) {
  return std::equal(told.begin(), told.end(), found.begin(), found.end(),
                    [](std::int64_t t, std::int64_t f) { return t == f || t == -1; });
}

// A header that is contradicted would otherwise be read as data. REQUIRES: the caller points into or before it.
void refuse_contradiction(const Layout& found, const OpenOptions& told, const io::File& file) {
  const char* wrong = nullptr;
  if (told.dtype && (*told.dtype != found.dtype || (told.endian != native_endian && told.endian != found.endian)))
    wrong = "dtype";
  if (told.shape && !fits(*told.shape, found.shape)) wrong = "shape";
  if (told.order && *told.order != found.order && found.shape.size() > 1) wrong = "order";
  if (told.offset > 0) wrong = "offset";
  if (wrong == nullptr) return;
  throw FormatError(fmt::format(
      "{}: the given {} contradicts its {} header, which says {}{} ({}), order {}, data from byte {}. Leave it out: "
      "open(\"{}\"); or skip the header: offset={}",
      file.path(), wrong, found.format, found.endian == native_endian ? "" : "big-endian ", name(found.dtype),
      fmt::join(found.shape, ", "), found.order == Order::c ? "C" : "F", found.data_offset, file.path(),
      found.data_offset));
}

void check_key(const OpenOptions& told, const std::string& path, const Format* format) {
  if (!told.key || (format != nullptr && format->has_keys)) return;
  throw std::invalid_argument(fmt::format("{}: a {} file holds one array, which has no key: leave key out", path,
                                          format == nullptr ? "raw" : format->title));
}

bool skips_header(const OpenOptions& told, const io::File& file, std::span<const std::byte> head,
                  const Format* format) {
  if (told.offset == 0) return false;
  if (format == nullptr || format->parse == nullptr) return true;
  if (format->header_bytes != nullptr) return told.offset >= format->header_bytes(head, file.path());
  return told.offset >= format->parse(head, file.size_bytes(), file.path()).data_offset;
}

Layout layout_of(io::File& file, const OpenOptions& told) {
  const std::vector<std::byte> head = file.take_head();
  // A live file is read as a map would show it, whatever it begins with.
  const Format* format = sniff_format(head);
  check_key(told, file.path(), format);
  if (told.live || skips_header(told, file, head, format)) return raw_layout(told, file);
  if (format != nullptr && format->parse != nullptr) {
    Layout found = header_layout(file, head, *format);
    refuse_contradiction(found, told, file);
    return found;
  }
  if (told.dtype || told.shape || told.offset > 0 || told.order) return raw_layout(told, file);
  if (format != nullptr) refuse_format(file.path(), *format);
  refuse_unknown(file);
}

}  // namespace

Array open(const std::string& path, const OpenOptions& options) {
  prepare_process();
  if (const Format* folder = folder_format(path)) refuse_format(path, *folder);
  const io::Access access = options.mode == Mode::read ? io::Access::read : io::Access::read_write;
  const auto file = io::File::open(path, access);  // outlives its pin, whatever throws
  const io::File::Pin pin = file->pin();
  const auto source = std::make_shared<const FileSource>(file, layout_of(*file, options), options.live);
  return Array(std::make_shared<const ArrayState>(source, source->whole(), options.mode == Mode::read_write));
}

}  // namespace lowtide
