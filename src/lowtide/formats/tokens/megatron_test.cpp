#include "lowtide/formats/tokens/megatron.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lowtide/error.h"

namespace lowtide::megatron {
namespace {

using testing::HasSubstr;

template <class T>
std::string number(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
  return bytes;
}

struct Header {
  std::uint64_t version = 1;
  std::uint8_t code = 8;
  std::uint64_t sequence_count = 3;
  std::uint64_t bound_count = 3;
};

std::string text_of(const Header& header) {
  return std::string("MMIDIDX\0\0", 9) + number(header.version) + number(header.code) + number(header.sequence_count) +
         number(header.bound_count);
}

Index parsed(const std::string& head, std::uint64_t idx_bytes, std::uint64_t bin_bytes) {
  return parse(std::as_bytes(std::span(head)), idx_bytes, bin_bytes, "x.idx");
}

template <class E>
std::string refusal(const Header& header, std::uint64_t idx_bytes, std::uint64_t bin_bytes = 20) {
  try {
    parsed(text_of(header), idx_bytes, bin_bytes);
    return "accepted";
  } catch (const E& e) {
    return e.what();
  }
}

// 34 + 12 * 3 + 8 * 3
constexpr std::uint64_t whole_bytes = 94;

TEST(Megatron, HeaderAndSizesBecomeAnIndex) {
  const Index index = parsed(text_of({}), whole_bytes, 20);
  EXPECT_EQ(index.dtype, DType::uint16);
  EXPECT_EQ(index.sequence_count, 3u);
  EXPECT_EQ(index.document_count, 2u);
  EXPECT_FALSE(index.multimodal);
  EXPECT_EQ(index.lengths_offset, 34u);
  EXPECT_EQ(index.pointers_offset, 46u);
  EXPECT_EQ(index.documents_offset, 70u);
}

TEST(Megatron, OneByteMoreForEachSequenceIsMultimodal) {
  const Index index = parsed(text_of({}), whole_bytes + 3, 20);
  EXPECT_TRUE(index.multimodal);
  EXPECT_EQ(index.documents_offset, 70u);
}

TEST(Megatron, AnIndexOfNothingIsOne) {
  const Index index = parsed(text_of({.sequence_count = 0, .bound_count = 1}), 42, 0);
  EXPECT_EQ(index.document_count, 0u);
  EXPECT_FALSE(index.multimodal);
}

TEST(Megatron, CodesAreThoseOfIntegers) {
  const std::vector<std::pair<int, DType>> codes = {{1, DType::uint8}, {2, DType::int8},  {3, DType::int16},
                                                    {4, DType::int32}, {5, DType::int64}, {8, DType::uint16}};
  for (const auto& [code, dtype] : codes) {
    EXPECT_EQ(parsed(text_of({.code = static_cast<std::uint8_t>(code)}), whole_bytes, 80).dtype, dtype);
  }
  for (const std::uint8_t code : {6, 7, 9}) {
    EXPECT_THAT(refusal<UnsupportedError>({.code = code}, whole_bytes), HasSubstr("tokens are integers"));
  }
  EXPECT_THAT(refusal<FormatError>({.code = 0}, whole_bytes), HasSubstr("dtype code 0; known are"));
  EXPECT_THAT(refusal<FormatError>({.code = 10}, whole_bytes), HasSubstr("dtype code 10; known are"));
}

TEST(Megatron, WrongSizesAreRefusedWithTheNumbers) {
  EXPECT_EQ(refusal<FormatError>({}, whole_bytes - 1),
            "x.idx: an index of 3 sequences and 3 document bounds has 94 bytes (97 if multimodal); the file has 93, 1 "
            "too few. It was cut short or is still being written.");
  EXPECT_THAT(refusal<FormatError>({}, whole_bytes + 1), HasSubstr("the file has 95, 1 too many"));
  EXPECT_THAT(refusal<FormatError>({}, whole_bytes + 4), HasSubstr("the file has 98, 4 too many"));
}

TEST(Megatron, ATokenFileCutWithinATokenIsRefused) {
  EXPECT_EQ(refusal<FormatError>({.code = 4}, whole_bytes, 83),
            "x.idx: the index says int32, but the .bin beside it has 83 bytes: 3 more than a whole number of tokens");
}

TEST(Megatron, WrongFieldsAreRefused) {
  EXPECT_EQ(refusal<FormatError>({.version = 2}, whole_bytes), "x.idx: version 2 of Megatron's index; known is 1");
  EXPECT_EQ(refusal<FormatError>({.bound_count = 0}, 70),
            "x.idx: no document bounds; even an index of no documents has 1");
}

TEST(Megatron, CountsThatOverflowAreRefused) {
  for (const std::uint64_t count : {UINT64_MAX, UINT64_MAX / 12 + 1, std::uint64_t{1} << 61}) {
    EXPECT_THAT(refusal<FormatError>({.sequence_count = count}, whole_bytes), HasSubstr("more than 2^63 - 1 bytes"));
    EXPECT_THAT(refusal<FormatError>({.bound_count = count}, whole_bytes), HasSubstr("more than 2^63 - 1 bytes"));
  }
}

TEST(Megatron, AFileWithinItsHeaderIsRefused) {
  const std::string head = text_of({}).substr(0, 33);
  EXPECT_TRUE(sniff(std::as_bytes(std::span(head))));
  EXPECT_THROW(parsed(head, 33, 20), FormatError);
  EXPECT_FALSE(sniff(std::as_bytes(std::span(head)).first(8)));
  EXPECT_THROW(parsed("TNTIDX", 6, 20), FormatError);
}

}  // namespace
}  // namespace lowtide::megatron
