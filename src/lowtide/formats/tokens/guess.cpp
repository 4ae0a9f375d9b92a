#include "lowtide/formats/tokens/guess.h"

#include <algorithm>
#include <array>

#include "lowtide/formats/tokens/fields.h"

namespace lowtide::tokens {
namespace {

// With fewer tokens that tell, order may be chance: 12 of 16 lower halves above all upper ones have odds of 1 in 100,000.
constexpr std::size_t least_telling = 16;
constexpr std::uint16_t minus_one = 0xFFFF, least_negative = 0x8000;

// The words of one token as wide as any, the least significant first.
using Words = std::array<std::uint16_t, 4>;

Words words_at(std::span<const std::byte> pages, std::size_t at, Endian endian) {
  Words words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = little<std::uint16_t>(pages, at + 2 * i);
    if (endian == Endian::little) {
      words[i] = word;
    } else {
      words[3 - i] = static_cast<std::uint16_t>(word << 8 | word >> 8);
    }
  }
  return words;
}

// What tokens of 32 bits would be, and whether the upper halves of 64 bits are empty.
struct Halves {
  std::size_t telling_count = 0, dominated_count = 0;
  std::uint16_t greatest_upper = 0;
  bool negative = false, upper_empty = true;

  bool enough() const { return telling_count >= least_telling; }
  bool wide() const { return enough() && greatest_upper < least_negative && 4 * dominated_count >= 3 * telling_count; }
};

template <class Visit>
void for_each_token(std::span<const std::byte> pages, Endian endian, bool of_64_bits, Visit visit) {
  for (std::size_t at = 0; at + 8 <= pages.size(); at += 8) {
    const Words w = words_at(pages, at, endian);
    visit(w[0], w[1], w[2], w[3]);
    if (!of_64_bits) visit(w[2], w[3], std::uint16_t{0}, std::uint16_t{0});
  }
}

Halves halves_of(std::span<const std::byte> pages, Endian endian, bool of_64_bits) {
  Halves halves;
  const auto each = [&](auto tell) {
    for_each_token(pages, endian, of_64_bits,
                   [&](std::uint16_t lower, std::uint16_t upper, std::uint16_t third, std::uint16_t fourth) {
                     const bool empty = !of_64_bits || (third == 0 && fourth == 0);
                     const bool signs = !of_64_bits || (third == minus_one && fourth == minus_one);
                     if (upper == minus_one && lower >= least_negative && signs) {
                       halves.negative = halves.negative || lower != upper;
                     } else if (lower != upper || !empty) {
                       tell(lower, upper, empty);
                     }
                   });
  };
  each([&](std::uint16_t, std::uint16_t upper, bool empty) {
    ++halves.telling_count;
    halves.greatest_upper = std::max(halves.greatest_upper, upper);
    halves.upper_empty = halves.upper_empty && empty;
  });
  each([&](std::uint16_t lower, std::uint16_t, bool) { halves.dominated_count += lower > halves.greatest_upper; });
  return halves;
}

}  // namespace

Guess guess(std::span<const std::byte> pages, std::optional<std::uint64_t> vocabulary) {
  bool enough = false;
  for (const Endian endian : {Endian::little, Endian::big}) {
    const Halves of_64 = halves_of(pages, endian, true);
    if (of_64.wide() && of_64.upper_empty) return {of_64.negative ? DType::int64 : DType::uint64, endian, true};
    const Halves of_32 = halves_of(pages, endian, false);
    if (of_32.wide()) return {of_32.negative ? DType::int32 : DType::uint32, endian, true};
    enough = enough || (endian == Endian::little && of_32.enough());
  }
  const bool beyond_16_bits = vocabulary && *vocabulary > std::uint64_t{1} << 16;
  return {beyond_16_bits ? DType::uint32 : DType::uint16, Endian::little, enough || beyond_16_bits};
}

}  // namespace lowtide::tokens
