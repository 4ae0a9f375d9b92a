#include "lowtide/array/new_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "lowtide/error.h"
#include "lowtide/formats/npy/npy.h"
#include "lowtide/formats/registry.h"
#include "lowtide/io/transfer.h"
#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

// Names that promise another format than bare numbers. An unknown ending is raw: .bin, .dat, .f32 and none at all.
constexpr std::string_view foreign_endings[] = {
    ".arrow", ".avro",    ".bz2",  ".csv", ".feather", ".fits", ".gz",   ".h5",          ".hdf",
    ".hdf5",  ".jpg",     ".json", ".mat", ".n5",      ".nc",   ".npz",  ".orc",         ".pkl",
    ".png",   ".parquet", ".pt",   ".pth", ".pickle",  ".rar",  ".root", ".safetensors", ".tar",
    ".tif",   ".tiff",    ".txt",  ".tsv", ".xz",      ".zarr", ".zip",  ".zst",
};

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string format_for(const std::string& path, const std::optional<std::string>& format) {
  if (format) {
    if (const Format* known = format_named(*format); known != nullptr && known->writes) return *format;
    throw UnsupportedError(fmt::format("format \"{}\": lowtide writes {}", *format, formats_written()));
  }
  if (path.ends_with(".npy")) return "npy";
  const std::string ending = lower_case(std::filesystem::path(path).extension());
  if (std::ranges::find(foreign_endings, ending) != std::end(foreign_endings)) {
    throw UnsupportedError(
        fmt::format("{}: lowtide does not write {} files; it writes .npy and raw ones. Name it {}, or say "
                    "format=\"raw\" (--format raw) "
                    "for bare numbers under this name",
                    path, ending, std::filesystem::path(path).replace_extension(".npy").string()));
  }
  return "raw";
}

Layout layout_for(const std::string& path, const std::optional<std::string>& format, const Shape& shape, DType dtype,
                  Order order) {
  Layout layout;
  const Format& known = *format_named(format_for(path, format));
  layout.format = known.name;
  layout.dtype = dtype;
  layout.order = order;
  layout.shape = shape;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      throw std::invalid_argument(
          fmt::format("{}: a new array's extents must not be negative; start at 0 and append()", path));
  }
  checked_bytes(shape, dtype, path);
  if (known.write_header != nullptr) layout.data_offset = known.write_header(layout, npy::written_header_bytes).size();
  return layout;
}

}  // namespace

NewFile::NewFile(const std::string& path, const std::optional<std::string>& format, const Shape& shape, DType dtype,
                 Order order, bool overwrite)
    : path_(path),
      layout_(layout_for(path, format, shape, dtype, order)),
      output_(io::OutputFile::create(path, overwrite)) {
  pin_.emplace(output_.file());
}

void NewFile::reserve_all() { output_.reserve(round_up(layout_.data_offset + layout_.data_bytes(), page_bytes)); }

void NewFile::commit(const Layout& layout) {
  if (auto* const write_header = format_named(layout.format)->write_header) {
    const std::string header = write_header(layout, layout_.data_offset);
    alignas(page_bytes) std::array<std::byte, npy::written_header_bytes> page{};
    if (header.size() != page.size() || layout_.data_offset != page.size()) {
      throw UnsupportedError(
          fmt::format("{}: a header of {} bytes does not fit where the data begins", path_, header.size()));
    }
    std::memcpy(page.data(), header.data(), header.size());
    io::write_fully(output_.file(), page.data(), 0, page.size());
  }
  pin_.reset();
  output_.commit(layout.data_offset + layout.data_bytes());
}

}  // namespace lowtide
