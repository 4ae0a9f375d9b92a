// How wide the tokens of a file without a header are, told from pages of it.
//
//   Guess guess = tokens::guess(head);                       // nanoGPT, OLMo: uint16, uint32, int32, uint64 or int64
//   if (!guess.sure) guess = tokens::guess(more_pages);      // the head was padding
//
// Neighbours of 16-bit tokens are alike: either may be the larger. Halves of a 32-bit token are not: a vocabulary leaves the upper half
// few values, all of them below nearly every lower half. Pairs of equal words (zeros, padding) say nothing, and small negative
// numbers, which mark what is not to be learnt, say only that the tokens are signed.
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lowtide/dtype.h"
#include "lowtide/shape.h"

namespace lowtide::tokens {

struct Guess {
  DType dtype = DType::uint16;
  Endian endian = Endian::little;
  bool sure = false;  // there were words enough to tell
};

// `pages`: parts of the file one after the other, each beginning at a multiple of 8 bytes of it. uint16 where nothing can be told, and
// uint32 if the vocabulary has more tokens than 16 bits can number. Big-endian is only ever found for 32 and 64 bits.
Guess guess(std::span<const std::byte> pages, std::optional<std::uint64_t> vocabulary = {});

}  // namespace lowtide::tokens
