#include "lowtide/array/npy_open.h"

#include <fmt/format.h>

#include "lowtide/error.h"
#include "lowtide/formats/npy/npy.h"
#include "lowtide/io/transfer.h"
#include "lowtide/memory/block.h"

namespace lowtide {

Layout npy_layout(io::File& file, std::span<const std::byte> head) {
  const std::size_t bytes = npy::header_bytes(head, file.path());
  if (bytes <= head.size()) return npy::parse(head.first(bytes), file.size_bytes(), file.path());
  if (bytes > file.size_bytes()) {
    throw FormatError(
        fmt::format("{}: the npy header is {} bytes long but the file has {}", file.path(), bytes, file.size_bytes()));
  }
  // Headers longer than what File::open has read are rare: structured or padded ones.
  const std::uint64_t room = round_up(bytes, page_bytes);
  const Block block = Block::allocate(Budget::process().take(room, Purpose::staging, "opening " + file.path()));
  io::read_fully(file, block.data(), 0, room, bytes);
  return npy::parse(std::span(block.data(), bytes), file.size_bytes(), file.path());
}

}  // namespace lowtide
