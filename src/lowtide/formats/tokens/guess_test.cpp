#include "lowtide/formats/tokens/guess.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lowtide::tokens {
namespace {

// Ids as a tokenizer of this vocabulary gives them, with small ones among them.
std::vector<std::int64_t> some_ids(std::uint32_t vocabulary, std::size_t count) {
  std::vector<std::int64_t> ids;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    ids.push_back(i % 7 == 0 ? (state >> 16) % 16 : (state >> 8) % vocabulary);
  }
  return ids;
}

template <class T>
std::string bytes_of(const std::vector<std::int64_t>& ids, Endian endian = Endian::little) {
  std::string bytes;
  for (const std::int64_t id : ids) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      const std::size_t shift = 8 * (endian == Endian::little ? i : sizeof(T) - 1 - i);
      bytes += static_cast<char>(static_cast<std::uint64_t>(id) >> shift);
    }
  }
  return bytes;
}

Guess guess_of(const std::string& bytes, std::optional<std::uint64_t> vocabulary = {}) {
  return guess(std::as_bytes(std::span(bytes)).first(std::min<std::size_t>(bytes.size(), 4096)), vocabulary);
}

TEST(TokensGuess, TellsTheWidthOfTokensByTheirHead) {
  for (const std::uint32_t vocabulary : {16u, 65u, 50257u, 65536u})
    EXPECT_EQ(guess_of(bytes_of<std::uint16_t>(some_ids(vocabulary, 5000))).dtype, DType::uint16) << vocabulary;
  for (const std::uint32_t vocabulary : {5u, 16u, 256u, 50257u, 128256u, 262144u, 1u << 20, 3000000u, 100000000u}) {
    EXPECT_EQ(guess_of(bytes_of<std::uint32_t>(some_ids(vocabulary, 5000))).dtype, DType::uint32) << vocabulary;
    EXPECT_EQ(guess_of(bytes_of<std::uint64_t>(some_ids(vocabulary, 5000))).dtype, DType::uint64) << vocabulary;
  }
}

TEST(TokensGuess, IdsThatAreAllLargeAreToldToo) {
  std::vector<std::int64_t> ids = some_ids(1 << 20, 5000);
  for (std::int64_t& id : ids) id += 1 << 20;
  EXPECT_EQ(guess_of(bytes_of<std::uint32_t>(ids)).dtype, DType::uint32);
}

TEST(TokensGuess, MarksBelowZeroMakeTokensSigned) {
  std::vector<std::int64_t> ids = some_ids(50257, 5000);
  for (std::size_t i = 0; i < ids.size(); i += 3) ids[i] = -100;
  EXPECT_EQ(guess_of(bytes_of<std::int32_t>(ids)).dtype, DType::int32);
  EXPECT_EQ(guess_of(bytes_of<std::int64_t>(ids)).dtype, DType::int64);
}

TEST(TokensGuess, CharactersIn16BitsAreNotTakenForAnythingElse) {
  for (const std::size_t count : {32u, 40u, 64u, 5000u})
    EXPECT_EQ(guess_of(bytes_of<std::uint16_t>(some_ids(65, count))).dtype, DType::uint16) << count;
}

TEST(TokensGuess, CountingUpAndDownIsNotTakenForHalves) {
  std::vector<std::int64_t> up, down;
  for (std::int64_t i = 0; i < 5000; ++i) {
    up.push_back(i);
    down.insert(down.begin(), i);
  }
  EXPECT_EQ(guess_of(bytes_of<std::uint16_t>(up)).dtype, DType::uint16);
  EXPECT_EQ(guess_of(bytes_of<std::uint16_t>(down)).dtype, DType::uint16);
  EXPECT_EQ(guess_of(bytes_of<std::uint32_t>(up)).dtype, DType::uint32);
}

TEST(TokensGuess, PaddingAndFewTokensProveNothing) {
  EXPECT_FALSE(guess({}).sure);
  EXPECT_EQ(guess({}).dtype, DType::uint16);
  EXPECT_FALSE(guess_of(bytes_of<std::uint32_t>({50256, 11, 262})).sure);
  for (const std::int64_t pad : {0, -1}) {
    EXPECT_FALSE(guess_of(bytes_of<std::uint16_t>(std::vector<std::int64_t>(2048, pad))).sure);
    EXPECT_FALSE(guess_of(bytes_of<std::uint32_t>(std::vector<std::int64_t>(2048, pad))).sure);
  }
  EXPECT_FALSE(guess_of(bytes_of<std::int32_t>(std::vector<std::int64_t>(2048, -100))).sure);
  EXPECT_TRUE(guess_of(bytes_of<std::uint16_t>(some_ids(50257, 5000))).sure);
}

TEST(TokensGuess, AVocabularyThat16BitsCannotHoldIsBelieved) {
  EXPECT_EQ(guess_of(bytes_of<std::uint32_t>({50256, 11, 262}), 128256).dtype, DType::uint32);
  EXPECT_EQ(guess_of(bytes_of<std::uint16_t>(some_ids(50257, 5000)), 65536).dtype, DType::uint16);
}

TEST(TokensGuess, BigEndianTokensOf32And64BitsAreNamedAsSuch) {
  const Guess of_32 = guess_of(bytes_of<std::uint32_t>(some_ids(50257, 5000), Endian::big));
  EXPECT_EQ(of_32.dtype, DType::uint32);
  EXPECT_EQ(of_32.endian, Endian::big);
  EXPECT_EQ(guess_of(bytes_of<std::uint64_t>(some_ids(50257, 5000), Endian::big)).endian, Endian::big);
  EXPECT_EQ(guess_of(bytes_of<std::uint16_t>(some_ids(50257, 5000))).endian, Endian::little);
}

TEST(TokensGuess, AFileCutWithinATokenIsStillWhatItWas) {
  std::string bytes = bytes_of<std::uint32_t>(some_ids(128256, 500));
  bytes.resize(bytes.size() - 2);
  EXPECT_EQ(guess_of(bytes).dtype, DType::uint32);
}

}  // namespace
}  // namespace lowtide::tokens
