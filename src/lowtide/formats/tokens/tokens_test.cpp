#include "lowtide/formats/tokens/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lowtide/error.h"

namespace lowtide::tokens {
namespace {

using testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

template <class T>
std::string number(T value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i));
  return bytes;
}

template <class T>
std::string numbers(const std::vector<T>& values) {
  std::string bytes;
  for (const T value : values) bytes += number(value);
  return bytes;
}

std::string llmc_header(std::int32_t magic, std::int32_t version, std::int32_t count) {
  std::string header = number(magic) + number(version) + number(count);
  header.resize(1024);
  return header;
}

std::string litpkds_header(std::uint64_t version, std::uint8_t code, std::uint64_t count) {
  return "LITPKDS" + number(version) + number(code) + number(count);
}

std::optional<Layout> sniffed(const std::string& head, std::uint64_t file_bytes) {
  return sniff(bytes_of(head), file_bytes, "t.bin");
}

template <class E>
std::string refusal(const std::string& head, std::uint64_t file_bytes) {
  try {
    sniffed(head, file_bytes);
    return "accepted";
  } catch (const E& e) {
    return e.what();
  }
}

TEST(Llmc, TheMagicNumberSaysTheDtype) {
  const auto gpt2 = sniffed(llmc_header(20240520, 1, 100), 1224);
  ASSERT_TRUE(gpt2);
  EXPECT_EQ(gpt2->format, "llm.c");
  EXPECT_EQ(gpt2->dtype, DType::uint16);
  EXPECT_EQ(gpt2->endian, Endian::little);
  EXPECT_EQ(gpt2->order, Order::c);
  EXPECT_EQ(gpt2->shape, Shape{100});
  EXPECT_EQ(gpt2->data_offset, 1024u);
  const auto llama3 = sniffed(llmc_header(20240801, 7, 100), 1424);
  ASSERT_TRUE(llama3);
  EXPECT_EQ(llama3->dtype, DType::uint32);
  EXPECT_EQ(llama3->shape, Shape{100});
}

TEST(Llmc, AFileOfNoTokensIsOne) { EXPECT_EQ(sniffed(llmc_header(20240520, 1, 0), 1024)->shape, Shape{0}); }

TEST(Llmc, ACountUpTo2To31Minus1IsRead) {
  EXPECT_EQ(sniffed(llmc_header(20240801, 1, INT32_MAX), 1024 + 4 * std::uint64_t{INT32_MAX})->shape, Shape{INT32_MAX});
}

TEST(Llmc, AFileThatWasCutIsRefusedWithTheNumbers) {
  EXPECT_EQ(
      refusal<FormatError>(llmc_header(20240520, 1, 100), 1223),
      "t.bin: the header promises 100 tokens of uint16, so an llm.c token file has 1224 bytes; the file has 1223, "
      "1 too few. It was cut short or is still being written.");
}

TEST(Llmc, AFileThatIsTooLongIsRefusedWithTheNumbers) {
  EXPECT_EQ(
      refusal<FormatError>(llmc_header(20240801, 1, 100), 1430),
      "t.bin: the header promises 100 tokens of uint32, so an llm.c token file has 1424 bytes; the file has 1430, "
      "6 too many. The count or the tokens are not as they were written.");
}

TEST(Llmc, WrongFieldsAreRefused) {
  EXPECT_EQ(refusal<FormatError>(llmc_header(20240520, 2, 0), 1024), "t.bin: llm.c version 2; known are 1 and 7");
  EXPECT_EQ(refusal<FormatError>(llmc_header(20240520, 1, -3), 1024), "t.bin: the llm.c header says -3 tokens");
}

TEST(Llmc, AFileWithinItsHeaderIsRefused) {
  for (const std::size_t bytes : {4u, 11u, 1023u}) {
    EXPECT_EQ(refusal<FormatError>(llmc_header(20240520, 1, 0).substr(0, bytes), bytes),
              "t.bin: the header of an llm.c token file is 1024 bytes long, the file has " + std::to_string(bytes));
  }
}

TEST(Llmc, EvaluationFilesAreNamedAsSuch) {
  EXPECT_THAT(refusal<UnsupportedError>(llmc_header(20240522, 1, 10), 4096), HasSubstr("evaluation file"));
}

TEST(Llmc, BigEndianFilesAreNamedAsSuch) {
  const std::string swapped("\x01\x34\xD8\x88\x00\x00\x00\x01\x00\x00\x00\x64", 12);
  EXPECT_THAT(refusal<FormatError>(swapped, 1224), HasSubstr("big-endian"));
  EXPECT_THAT(refusal<FormatError>(swapped.substr(0, 4), 4), HasSubstr("big-endian"));
}

TEST(Llmc, BareTokensThatBeginAsTheSwappedMagicDoesAreNotTaken) {
  EXPECT_FALSE(sniffed(numbers<std::uint16_t>({0x3401, 0x88D8, 17, 4}), 8));
}

TEST(Litpkds, TheCodeSaysTheDtype) {
  const std::vector<std::pair<int, DType>> codes = {{1, DType::uint8}, {2, DType::int8},  {3, DType::int16},
                                                    {4, DType::int32}, {5, DType::int64}, {8, DType::uint16}};
  for (const auto& [code, dtype] : codes) {
    const auto layout = sniffed(litpkds_header(1, static_cast<std::uint8_t>(code), 10), 24 + 10 * itemsize(dtype));
    ASSERT_TRUE(layout);
    EXPECT_EQ(layout->format, "litpkds");
    EXPECT_EQ(layout->dtype, dtype);
    EXPECT_EQ(layout->shape, Shape{10});
    EXPECT_EQ(layout->data_offset, 24u);
  }
}

TEST(Litpkds, FloatsAndUnknownCodesAreRefused) {
  for (const std::uint8_t code : {6, 7, 9}) {
    EXPECT_THAT(refusal<UnsupportedError>(litpkds_header(1, code, 10), 64), HasSubstr("tokens are integers"));
  }
  EXPECT_THAT(refusal<FormatError>(litpkds_header(1, 0, 10), 64), HasSubstr("dtype code 0; known are"));
  EXPECT_THAT(refusal<FormatError>(litpkds_header(1, 255, 10), 64), HasSubstr("dtype code 255; known are"));
}

TEST(Litpkds, WrongSizesAreRefusedWithTheNumbers) {
  EXPECT_EQ(refusal<FormatError>(litpkds_header(1, 8, 10), 40),
            "t.bin: the header promises 10 tokens of uint16, so a LITPKDS file has 44 bytes; the file has 40, 4 too "
            "few. It was cut short or is still being written.");
  EXPECT_THAT(refusal<FormatError>(litpkds_header(1, 8, 10), 50), HasSubstr("has 50, 6 too many"));
  EXPECT_EQ(refusal<FormatError>("LITPKDS", 7), "t.bin: a LITPKDS header is 24 bytes long, the file has 7");
  EXPECT_EQ(refusal<FormatError>(litpkds_header(3, 8, 10), 44), "t.bin: LITPKDS version 3; known is 1");
}

TEST(Litpkds, CountsThatOverflowAreRefused) {
  for (const std::uint64_t count : {UINT64_MAX, UINT64_MAX / 2, std::uint64_t{1} << 62}) {
    EXPECT_THAT(refusal<FormatError>(litpkds_header(1, 8, count), 44), HasSubstr("more than 2^63 - 1 bytes"));
  }
}

TEST(TokensSniff, OtherContentIsNotTaken) {
  EXPECT_FALSE(sniffed("", 0));
  EXPECT_FALSE(sniffed("abc", 3));
  EXPECT_FALSE(sniffed("LITPKD", 6));
  EXPECT_FALSE(sniffed(numbers<std::uint16_t>({50256, 198, 11, 262}), 8));
}

}  // namespace
}  // namespace lowtide::tokens
