#include "lowtide/formats/tokens/megatron.h"

#include <fmt/format.h>

#include <optional>

#include "lowtide/base/checked.h"
#include "lowtide/error.h"
#include "lowtide/formats/tokens/fields.h"

namespace lowtide::megatron {
namespace {

using tokens::little;

constexpr std::string_view magic("MMIDIDX\0\0", 9);
constexpr std::uint64_t sequence_bytes = 12;  // a length and an offset
constexpr std::uint64_t document_bytes = 8;

// Nothing where it does not fit 63 bits; then neither do the offsets of the arrays.
std::optional<std::uint64_t> index_bytes(std::uint64_t sequence_count, std::uint64_t bound_count) {
  const auto sequences = checked_multiply(sequence_count, sequence_bytes + 1);  // with the modes of a multimodal file
  const auto bounds = checked_multiply(bound_count, document_bytes);
  const auto arrays = sequences && bounds ? checked_add(*sequences, *bounds) : std::nullopt;
  const auto total = arrays ? checked_add<std::uint64_t>(*arrays, header_bytes) : std::nullopt;
  if (!total || *total > INT64_MAX) return std::nullopt;
  return *total - sequence_count;
}

// Whether it is multimodal, which nothing but the size says.
bool check_index_size(std::uint64_t sequence_count, std::uint64_t bound_count, std::uint64_t idx_bytes,
                      std::string_view path) {
  const auto plain_bytes = index_bytes(sequence_count, bound_count);
  if (!plain_bytes) {
    throw FormatError(fmt::format("{}: {} sequences and {} document bounds are more than 2^63 - 1 bytes of index", path,
                                  sequence_count, bound_count));
  }
  if (idx_bytes == *plain_bytes) return false;
  if (idx_bytes == *plain_bytes + sequence_count) return true;
  const bool cut = idx_bytes < *plain_bytes;
  throw FormatError(fmt::format(
      "{}: an index of {} sequences and {} document bounds has {} bytes ({} if multimodal); the file has {}, {} too "
      "{}{}",
      path, sequence_count, bound_count, *plain_bytes, *plain_bytes + sequence_count, idx_bytes,
      cut ? *plain_bytes - idx_bytes : idx_bytes - *plain_bytes, cut ? "few" : "many",
      cut ? ". It was cut short or is still being written." : ""));
}

}  // namespace

bool sniff(std::span<const std::byte> head) { return tokens::starts_with(head, magic); }

Index parse(std::span<const std::byte> head, std::uint64_t idx_bytes, std::uint64_t bin_bytes, std::string_view path) {
  if (!sniff(head)) throw FormatError(fmt::format("{}: not Megatron's index: it does not begin with MMIDIDX", path));
  if (head.size() < header_bytes || idx_bytes < header_bytes) {
    throw FormatError(fmt::format("{}: the header of Megatron's index is {} bytes long, the file has {}", path,
                                  header_bytes, idx_bytes));
  }
  if (const auto version = little<std::uint64_t>(head, 9); version != 1) {
    throw FormatError(fmt::format("{}: version {} of Megatron's index; known is 1", path, version));
  }
  Index index;
  index.dtype = tokens::dtype_of_code(little<std::uint8_t>(head, 17), path);
  index.sequence_count = little<std::uint64_t>(head, 18);
  const auto bound_count = little<std::uint64_t>(head, 26);
  if (bound_count == 0) {
    throw FormatError(fmt::format("{}: no document bounds; even an index of no documents has 1", path));
  }
  index.document_count = bound_count - 1;
  index.multimodal = check_index_size(index.sequence_count, bound_count, idx_bytes, path);
  if (const std::uint64_t left_bytes = bin_bytes % itemsize(index.dtype); left_bytes != 0) {
    throw FormatError(
        fmt::format("{}: the index says {}, but the .bin beside it has {} bytes: {} more than a whole number of tokens",
                    path, name(index.dtype), bin_bytes, left_bytes));
  }
  index.lengths_offset = header_bytes;
  index.pointers_offset = header_bytes + 4 * index.sequence_count;
  index.documents_offset = header_bytes + sequence_bytes * index.sequence_count;
  return index;
}

}  // namespace lowtide::megatron
