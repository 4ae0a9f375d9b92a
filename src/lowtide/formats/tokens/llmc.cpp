#include "lowtide/formats/tokens/llmc.h"

#include <fmt/format.h>

#include "lowtide/error.h"
#include "lowtide/formats/tokens/fields.h"

namespace lowtide::llmc {
namespace {

using tokens::little;

constexpr std::uint32_t magic_uint16 = 20240520;
constexpr std::uint32_t magic_uint32 = 20240801;
constexpr std::uint32_t magic_evaluation = 20240522;

bool is_magic(std::uint32_t value) {
  return value == magic_uint16 || value == magic_uint32 || value == magic_evaluation;
}

bool is_version(std::uint32_t value) { return value == 1 || value == 7; }

// Bare uint16 tokens can begin with the swapped magic by chance, but not with the swapped version after it.
bool is_swapped(std::span<const std::byte> head) {
  return head.size() >= 4 && is_magic(__builtin_bswap32(little<std::uint32_t>(head, 0))) &&
         (head.size() < 8 || is_version(__builtin_bswap32(little<std::uint32_t>(head, 4))));
}

}  // namespace

bool sniff(std::span<const std::byte> head) {
  return head.size() >= 4 && (is_magic(little<std::uint32_t>(head, 0)) || is_swapped(head));
}

Layout parse(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view path) {
  if (is_swapped(head)) {
    throw FormatError(
        fmt::format("{}: an llm.c token file in big-endian byte order; the format is little-endian. Write it again, "
                    "with np.array(header, \"<i4\") and tokens of \"<u2\" or \"<u4\".",
                    path));
  }
  const auto magic = little<std::uint32_t>(head, 0);
  if (magic == magic_evaluation) {
    throw UnsupportedError(
        fmt::format("{}: an llm.c evaluation file (magic {}: multiple choice examples, as for HellaSwag), which is no "
                    "stream of tokens. Token files have magic {} or {}.",
                    path, magic, magic_uint16, magic_uint32));
  }
  if (head.size() < header_bytes || file_bytes < header_bytes) {
    throw FormatError(fmt::format("{}: the header of an llm.c token file is {} bytes long, the file has {}", path,
                                  header_bytes, file_bytes));
  }
  if (const auto version = little<std::uint32_t>(head, 4); !is_version(version)) {
    throw FormatError(fmt::format("{}: llm.c version {}; known are 1 and 7", path, static_cast<std::int32_t>(version)));
  }
  const auto count = little<std::int32_t>(head, 8);
  if (count < 0) throw FormatError(fmt::format("{}: the llm.c header says {} tokens", path, count));
  const DType dtype = magic == magic_uint16 ? DType::uint16 : DType::uint32;
  tokens::check_size({"an llm.c token file", header_bytes, static_cast<std::uint64_t>(count), dtype}, file_bytes, path);
  return {.format = "llm.c",
          .dtype = dtype,
          .endian = Endian::little,
          .order = Order::c,
          .shape = {count},
          .data_offset = header_bytes};
}

}  // namespace lowtide::llmc
