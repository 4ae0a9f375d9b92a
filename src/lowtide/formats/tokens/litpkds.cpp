#include "lowtide/formats/tokens/litpkds.h"

#include <fmt/format.h>

#include "lowtide/error.h"
#include "lowtide/formats/tokens/fields.h"

namespace lowtide::litpkds {

using tokens::little;

bool sniff(std::span<const std::byte> head) { return tokens::starts_with(head, "LITPKDS"); }

Layout parse(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view path) {
  if (head.size() < header_bytes || file_bytes < header_bytes) {
    throw FormatError(
        fmt::format("{}: a LITPKDS header is {} bytes long, the file has {}", path, header_bytes, file_bytes));
  }
  if (const auto version = little<std::uint64_t>(head, 7); version != 1) {
    throw FormatError(fmt::format("{}: LITPKDS version {}; known is 1", path, version));
  }
  const DType dtype = tokens::dtype_of_code(little<std::uint8_t>(head, 15), path);
  const auto count = little<std::uint64_t>(head, 16);
  tokens::check_size({"a LITPKDS file", header_bytes, count, dtype}, file_bytes, path);
  return {.format = "litpkds",
          .dtype = dtype,
          .endian = Endian::little,
          .order = Order::c,
          .shape = {static_cast<std::int64_t>(count)},
          .data_offset = header_bytes};
}

}  // namespace lowtide::litpkds
