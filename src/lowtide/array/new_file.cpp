#include "lowtide/array/new_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "lowtide/error.h"
#include "lowtide/formats/npy/npy.h"
#include "lowtide/io/transfer.h"
#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

Layout layout_for(const std::string& path, const std::optional<std::string>& format, const Shape& shape, DType dtype,
                  Order order) {
  Layout layout;
  const std::string name = format.value_or(path.ends_with(".npy") ? "npy" : "raw");
  if (name != "npy" && name != "raw")
    throw UnsupportedError(fmt::format("format \"{}\": lowtide writes \"npy\" and \"raw\"", name));
  layout.format = name == "npy" ? "npy" : "raw";
  layout.dtype = dtype;
  layout.order = order;
  layout.shape = shape;
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      throw std::invalid_argument(
          fmt::format("{}: a new array's extents must not be negative; start at 0 and append()", path));
  }
  checked_bytes(shape, dtype, path);
  if (layout.format == "npy") layout.data_offset = npy::write_header(layout).size();
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
  if (layout.format == "npy") {
    const std::string header = npy::write_header(layout, layout_.data_offset);
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
