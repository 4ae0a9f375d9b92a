#include "lowtide/formats/tokens/tokens.h"

#include <algorithm>
#include <array>

#include "lowtide/formats/tokens/fields.h"
#include "lowtide/formats/tokens/litpkds.h"
#include "lowtide/formats/tokens/llmc.h"

namespace lowtide::tokens {
namespace {

// Vocabularies end far below 2^20, so the upper half of a 32-bit token is less than 16.
constexpr std::uint16_t small_limit = 16;
// With fewer tokens, small words in the right places may be chance.
constexpr std::size_t least_tokens = 16;

struct Words {
  std::size_t count = 0, small_count = 0, zero_count = 0;
  bool all_small() const { return small_count == count; }
  bool all_zero() const { return zero_count == count; }
  bool mostly_large() const { return 2 * small_count < count; }
};

}  // namespace

std::optional<Layout> sniff(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view path) {
  if (llmc::sniff(head)) return llmc::parse(head, file_bytes, path);
  if (litpkds::sniff(head)) return litpkds::parse(head, file_bytes, path);
  return std::nullopt;
}

DType guess(std::span<const std::byte> head, std::uint64_t file_bytes) {
  std::array<Words, 4> lanes;  // 16-bit words by their place in groups of 8 bytes
  const auto seen_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(head.size(), file_bytes));
  const std::size_t whole_bytes = seen_bytes - seen_bytes % 8;
  for (std::size_t i = 0; i < whole_bytes; i += 2) {
    const auto word = little<std::uint16_t>(head, i);
    Words& lane = lanes[i / 2 % 4];
    ++lane.count;
    lane.small_count += word < small_limit;
    lane.zero_count += word == 0;
  }
  // The size has no say: a file of 32-bit tokens that was cut within one is to be refused, not read as 16-bit tokens.
  if (!lanes[0].mostly_large() || !lanes[1].all_small() || !lanes[3].all_small()) return DType::uint16;
  if (lanes[0].count >= least_tokens && lanes[2].all_zero() && lanes[3].all_zero()) return DType::uint64;
  const bool enough = lanes[0].count + lanes[2].count >= least_tokens;
  return enough && lanes[2].mostly_large() ? DType::uint32 : DType::uint16;
}

}  // namespace lowtide::tokens
