#include "lowtide/source/header.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "lowtide/error.h"
#include "lowtide/io/transfer.h"
#include "lowtide/memory/block.h"

namespace lowtide {

Layout header_layout(io::File& file, std::span<const std::byte> head, const Format& format) {
  if (format.parse == nullptr) refuse_format(file.path(), format);
  if (format.header_bytes == nullptr) return format.parse(head, file.size_bytes(), file.path());
  const std::size_t bytes = format.header_bytes(head, file.path());
  if (bytes <= head.size()) return format.parse(head.first(bytes), file.size_bytes(), file.path());
  if (bytes > file.size_bytes()) {
    throw FormatError(fmt::format("{}: the {} header is {} bytes long but the file has {}", file.path(), format.title,
                                  bytes, file.size_bytes()));
  }
  // Headers longer than what File::open has read are rare: structured or padded ones.
  const std::uint64_t room = round_up(bytes, page_bytes);
  const Block block = Block::allocate(Budget::process().take(room, Purpose::staging, "opening " + file.path()));
  io::read_fully(file, block.data(), 0, room, bytes);
  return format.parse(std::span(block.data(), bytes), file.size_bytes(), file.path());
}

void refuse_format(const std::string& path, const Format& format) {
  if (!format.is_array) throw FormatError(fmt::format("{}: {}, no array: {}", path, format.title, format.instead));
  throw UnsupportedError(fmt::format("{}: {} cannot be opened yet; lowtide opens {}. {}", path, format.title,
                                     formats_opened(), format.instead));
}

const Format* folder_format(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return nullptr;
  for (const Format& format : all_formats()) {
    for (const std::string_view marker : format.marker_files) {
      if (std::filesystem::exists(std::filesystem::path(path) / marker, ignored)) return &format;
    }
  }
  return nullptr;
}

}  // namespace lowtide
