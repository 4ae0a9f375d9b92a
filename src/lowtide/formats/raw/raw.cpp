#include "lowtide/formats/raw/raw.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lowtide/error.h"

namespace lowtide::raw {
namespace {

// As Python writes a tuple, to be typed back.
std::string tuple(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

struct File {
  std::string_view path;
  std::uint64_t bytes;
  std::uint64_t after_offset;  // bytes from the offset to the end
};

std::string after_offset(const File& file, std::uint64_t offset) {
  return offset == 0 ? fmt::format("the file has {} bytes", file.bytes)
                     : fmt::format("the file has {} bytes after offset {}", file.after_offset, offset);
}

Shape with_extent(Shape shape, std::size_t axis, std::uint64_t extent) {
  shape[axis] = static_cast<std::int64_t>(extent);
  return shape;
}

// The shape with its -1 replaced by what the file's size says.
Shape inferred(const Spec& spec, std::size_t axis, const File& file) {
  const Shape one = with_extent(spec.shape, axis, 1);
  const std::uint64_t unit_bytes = checked_bytes(one, spec.dtype, file.path);
  if (unit_bytes == 0) {
    throw FormatError(
        fmt::format("{}: the -1 in shape {} can be anything, because another extent is 0; give it a number", file.path,
                    tuple(spec.shape)));
  }
  const std::uint64_t count = file.after_offset / unit_bytes, left_bytes = file.after_offset % unit_bytes;
  if (left_bytes != 0) {
    throw FormatError(
        fmt::format("{}: shape {} of {} needs a multiple of {} bytes, but {}: {} left over. Shape {} ignores what is "
                    "left, offset {} "
                    "skips as much at the start; or give another dtype.",
                    file.path, tuple(spec.shape), name(spec.dtype), unit_bytes, after_offset(file, spec.offset),
                    left_bytes, tuple(with_extent(spec.shape, axis, count)), spec.offset + left_bytes));
  }
  return with_extent(spec.shape, axis, count);
}

// The same shape, cut along its slowest axis to what the file holds; nothing where no cut can help.
std::string shape_that_fits(const Spec& spec, const File& file) {
  if (spec.shape.empty()) return "";
  const std::size_t axis = spec.order == Order::c ? 0 : spec.shape.size() - 1;
  const std::uint64_t unit_bytes = checked_bytes(with_extent(spec.shape, axis, 1), spec.dtype, file.path);
  return fmt::format(" Shape {} fits.", tuple(with_extent(spec.shape, axis, file.after_offset / unit_bytes)));
}

}  // namespace

Layout describe(const Spec& spec, std::uint64_t file_bytes, std::string_view path) {
  if (spec.offset > file_bytes) {
    throw FormatError(
        fmt::format("{}: offset {} is beyond the end of the file ({} bytes); give an offset of at most {}", path,
                    spec.offset, file_bytes, file_bytes));
  }
  const File file{path, file_bytes, file_bytes - spec.offset};
  const auto unknown_count = std::count(spec.shape.begin(), spec.shape.end(), -1);
  if (unknown_count > 1) {
    throw FormatError(fmt::format("{}: {} extents of shape {} are -1; the file's size can tell only one", path,
                                  unknown_count, tuple(spec.shape)));
  }
  Layout layout{.format = "raw",
                .dtype = spec.dtype,
                .endian = spec.endian,
                .order = spec.order,
                .shape = spec.shape,
                .data_offset = spec.offset};
  if (unknown_count == 1) {
    const auto axis = std::find(spec.shape.begin(), spec.shape.end(), -1) - spec.shape.begin();
    layout.shape = inferred(spec, static_cast<std::size_t>(axis), file);
  }
  const std::uint64_t needed_bytes = checked_bytes(layout.shape, spec.dtype, path);
  if (needed_bytes > file.after_offset) {
    throw FormatError(fmt::format("{}: shape {} of {} needs {} bytes, but {}.{}", path, tuple(layout.shape),
                                  name(spec.dtype), needed_bytes, after_offset(file, spec.offset),
                                  shape_that_fits(spec, file)));
  }
  return layout;
}

}  // namespace lowtide::raw
