#include "lowtide/loader/tokens/token_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "lowtide/error.h"
#include "lowtide/io/test_file.h"

namespace lowtide {
namespace {

using testing::HasSubstr;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string uint16s(std::size_t count) {
  std::vector<std::uint16_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint16_t>(i * 40503u + 20000u);
  return bytes_of(values);
}

std::string uint32s(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u) >> 15;
  return bytes_of(values);
}

std::string llmc(std::int32_t magic, std::int32_t count, const std::string& data) {
  std::string header = bytes_of<std::int32_t>({magic, 1, count});
  header.resize(1024);
  return header + data;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data, std::size_t length = 118) {
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  dict.resize(length - 1, ' ');
  const std::string size = {static_cast<char>(length & 0xFF), static_cast<char>(length >> 8)};
  return std::string("\x93NUMPY\x01\x00", 8) + size + dict + "\n" + data;
}

std::string index_of(char code, const std::vector<std::int32_t>& lengths) {
  const std::vector<std::uint64_t> counts = {lengths.size(), lengths.size() + 1};
  std::vector<std::int64_t> offsets, bounds = {0};
  std::int64_t at = 0;
  for (const std::int32_t length : lengths) {
    offsets.push_back(at);
    at += 2 * length;
    bounds.push_back(static_cast<std::int64_t>(offsets.size()));
  }
  return std::string("MMIDIDX\0\0", 9) + bytes_of<std::uint64_t>({1}) + code + bytes_of(counts) + bytes_of(lengths) +
         bytes_of(offsets) + bytes_of(bounds);
}

class TokenStreamTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) const {
    const std::string path = folder / name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  template <class E>
  static std::string refusal(const std::vector<std::string>& paths, std::optional<DType> dtype = {}) {
    try {
      TokenStream::open(paths, {.dtype = dtype});
      return "accepted";
    } catch (const E& e) {
      return e.what();
    }
  }
  static std::vector<std::string> names(const TokenStream& stream) {
    std::vector<std::string> result;
    for (const Shard& shard : stream.shards()) result.push_back(std::filesystem::path(shard.file->path()).filename());
    return result;
  }
  io::TestFolder folder;
};

TEST_F(TokenStreamTest, BareTokensAreGuessedOrTold) {
  const std::string narrow = write("narrow.bin", uint16s(1000)), wide = write("wide.bin", uint32s(1000));
  const TokenStream guessed = TokenStream::open({narrow}, {});
  EXPECT_EQ(guessed.size(), 1000u);
  EXPECT_EQ(guessed.dtype(), DType::uint16);
  EXPECT_EQ(guessed.endian(), Endian::little);
  EXPECT_EQ(guessed.shards().front().layout.format, "raw");
  EXPECT_EQ(guessed.name(), narrow);
  EXPECT_EQ(TokenStream::open({wide}, {}).dtype(), DType::uint32);
  EXPECT_EQ(TokenStream::open({wide}, {.dtype = DType::uint64}).size(), 500u);
  EXPECT_EQ(TokenStream::open({write("olmo.npy", uint32s(1000))}, {}).dtype(), DType::uint32);
}

TEST_F(TokenStreamTest, FilesWithAHeaderSayWhatTheyHold) {
  const TokenStream stream = TokenStream::open({write("a.bin", llmc(20240801, 100, uint32s(100)))}, {});
  EXPECT_EQ(stream.dtype(), DType::uint32);
  EXPECT_EQ(stream.shards().front().layout.format, "llm.c");
  EXPECT_EQ(stream.shards().front().layout.data_offset, 1024u);
  const std::string head = "LITPKDS" + bytes_of<std::uint64_t>({1}) + '\x08' + bytes_of<std::uint64_t>({100});
  EXPECT_EQ(TokenStream::open({write("b.bin", head + uint16s(100))}, {}).shards().front().layout.format, "litpkds");
}

TEST_F(TokenStreamTest, NpyFilesAreReadHoweverLongTheirHeader) {
  const TokenStream stream = TokenStream::open({write("a.npy", npy(">u2", "(50,)", uint16s(50)))}, {});
  EXPECT_EQ(stream.size(), 50u);
  EXPECT_EQ(stream.endian(), Endian::big);
  EXPECT_EQ(TokenStream::open({write("b.npy", npy("<i4", "(50,)", uint32s(50), 9000))}, {}).dtype(), DType::int32);
}

TEST_F(TokenStreamTest, NpyFilesOfAnotherKindAreRefused) {
  EXPECT_THAT(refusal<FormatError>({write("a.npy", npy("<u2", "(5, 5, 2)", uint16s(50)))}),
              HasSubstr("this one has 3. Save x.ravel()."));
  EXPECT_EQ(TokenStream::open({write("m.npy", npy("<u2", "(5, 10)", uint16s(50)))}, {}).shards().front().row_tokens,
            10u);
  EXPECT_THAT(refusal<FormatError>({write("b.npy", npy("<f4", "(50,)", uint32s(50)))}),
              HasSubstr("tokens are integers; this array is float32"));
  EXPECT_THAT(refusal<FormatError>({write("c.npy", npy("|b1", "(50,)", uint32s(50)))}), HasSubstr("is bool"));
}

TEST_F(TokenStreamTest, AMegatronPairOpensByPrefixAndByEitherFile) {
  const std::string bin = write("wiki.bin", uint16s(10)), idx = write("wiki.idx", index_of(8, {4, 6}));
  for (const std::string& path : {folder / "wiki", bin, idx}) {
    const TokenStream stream = TokenStream::open({path}, {});
    EXPECT_EQ(stream.size(), 10u);
    EXPECT_EQ(stream.shards().front().layout.format, "megatron");
    EXPECT_EQ(stream.shards().front().file->path(), bin);
    ASSERT_TRUE(stream.shards().front().index);
    EXPECT_EQ(stream.shards().front().index->path(), idx);
  }
  EXPECT_EQ(TokenStream::open({folder / "wiki*"}, {}).size(), 10u);
  EXPECT_EQ(TokenStream::open({idx, bin}, {}).size(), 10u);
}

TEST_F(TokenStreamTest, AMegatronPairTakesItsDtypeFromTheIndex) {
  write("wiki.bin", uint16s(10));
  write("wiki.idx", index_of(3, {4, 6}));
  EXPECT_EQ(TokenStream::open({folder / "wiki"}, {}).dtype(), DType::int16);
  EXPECT_THAT(refusal<FormatError>({folder / "wiki"}, DType::uint16), HasSubstr("wiki.idx says int16"));
}

TEST_F(TokenStreamTest, ABadIndexIsRefusedAndAForeignOneIgnored) {
  const std::string bin = write("wiki.bin", uint16s(10));
  write("wiki.idx", index_of(8, {4, 6}) + "xyz");
  EXPECT_THAT(refusal<FormatError>({bin}), HasSubstr("3 too many"));
  write("wiki.idx", "some other program's");
  EXPECT_EQ(TokenStream::open({bin}, {}).shards().front().layout.format, "raw");
  EXPECT_THAT(refusal<FormatError>({folder / "wiki.idx"}), HasSubstr("not Megatron's index"));
}

TEST_F(TokenStreamTest, GlobsStandForTheirMatchesInOrder) {
  for (const std::string name : {"s_2.bin", "s_0.bin", "s_1.bin", "other.txt"}) write(name, uint16s(100));
  const TokenStream stream = TokenStream::open({folder / "s_*.bin", folder / "s_[0].bin"}, {});
  EXPECT_EQ(names(stream), (std::vector<std::string>{"s_0.bin", "s_1.bin", "s_2.bin", "s_0.bin"}));
  EXPECT_EQ(stream.size(), 400u);
  EXPECT_EQ(stream.name(), (folder / "s_0.bin") + " and 3 more");
}

TEST_F(TokenStreamTest, AFileWhoseNameLooksLikeAGlobIsItself) {
  const std::string path = write("s_[12].bin", uint16s(100));
  write("s_1.bin", uint16s(50));
  EXPECT_EQ(TokenStream::open({path}, {}).size(), 100u);
}

TEST_F(TokenStreamTest, PathsThatNameNothingAreRefused) {
  try {
    TokenStream::open({folder / "none_*.bin"}, {});
    FAIL();
  } catch (const IoError& e) {
    EXPECT_EQ(e.code(), ENOENT);
    EXPECT_THAT(e.what(), HasSubstr("no file matches"));
  }
  EXPECT_THAT(refusal<IoError>({folder / "none"}), HasSubstr("none"));
  EXPECT_THAT(refusal<IoError>({folder / ""}), HasSubstr("is a directory"));
  EXPECT_THAT(refusal<std::invalid_argument>({folder / "**/x.bin"}), HasSubstr("recursive=True"));
  EXPECT_THAT(refusal<std::invalid_argument>({}), HasSubstr("no token files"));
}

TEST_F(TokenStreamTest, ShardsOfDifferentDtypesAreRefusedByName) {
  const std::string a = write("a.bin", uint16s(100)), b = write("b.bin", uint32s(100));
  const std::string refused = refusal<FormatError>({a, b});
  EXPECT_THAT(refused, HasSubstr(a + " holds uint16 (little-endian), " + b + " holds uint32"));
  EXPECT_THAT(refused, HasSubstr("give the dtype"));
  const std::string c = write("c.npy", npy(">u2", "(50,)", uint16s(50)));
  EXPECT_THAT(refusal<FormatError>({a, c}), HasSubstr(c + " holds uint16 (big-endian)"));
}

TEST_F(TokenStreamTest, BytesLeftOverAreRefusedWithWhatToType) {
  const std::string path = write("a.bin", uint16s(100) + "x");
  EXPECT_EQ(
      refusal<FormatError>({path}),
      path +
          ": 201 bytes are 1 more than a whole number of tokens of uint16, which they look like. It was cut short "
          "(truncate -s 200 drops the part of a token), or holds others: token_dtype=\"uint8\"");
  EXPECT_THAT(
      refusal<FormatError>({write("b.bin", uint32s(100).substr(2))}, DType::uint32),
      HasSubstr("398 bytes are 2 more than a whole number of tokens of uint32. It was cut short (truncate -s "
                "396 drops the part of a token), or holds others: token_dtype=\"uint8\" or token_dtype=\"uint16\""));
}

TEST_F(TokenStreamTest, ADtypeThatContradictsAHeaderIsRefused) {
  const std::string path = write("a.bin", llmc(20240520, 10, uint16s(10)));
  EXPECT_EQ(TokenStream::open({path}, {.dtype = DType::uint16}).size(), 10u);
  EXPECT_THAT(refusal<FormatError>({path}, DType::uint32), HasSubstr("dtype uint32 was given, but its header says"));
  EXPECT_THAT(refusal<std::invalid_argument>({path}, DType::float32), HasSubstr("tokens are integers"));
}

TEST_F(TokenStreamTest, EmptyShardsAreAllowedAndEmptyStreamsAreNot) {
  const std::string empty = write("empty.bin", ""), a = write("a.bin", uint32s(100));
  const std::string b = write("b.bin", llmc(20240801, 0, ""));
  const TokenStream stream = TokenStream::open({empty, a, empty, b, a, empty}, {});
  EXPECT_EQ(stream.size(), 200u);
  EXPECT_EQ(stream.dtype(), DType::uint32);
  EXPECT_EQ(stream.shard_of(0), 1u);
  EXPECT_EQ(stream.shard_of(99), 1u);
  EXPECT_EQ(stream.shard_of(100), 4u);
  EXPECT_EQ(stream.shard_of(199), 4u);
  EXPECT_THAT(refusal<FormatError>({empty}), HasSubstr("empty.bin: no tokens"));
  EXPECT_THAT(refusal<FormatError>({empty, b}), HasSubstr("no tokens"));
}

TEST_F(TokenStreamTest, PiecesCoverARangeAcrossShards) {
  const std::string a = write("a.bin", llmc(20240520, 10, uint16s(10))), b = write("b.bin", uint16s(5));
  const TokenStream stream = TokenStream::open({a, write("none.bin", ""), b, a}, {});
  const auto pieces = [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<std::array<std::uint64_t, 4>> result;
    stream.pieces(begin, end, [&](const TokenPiece& p) { result.push_back({p.shard, p.offset, p.count, p.at}); });
    return result;
  };
  using Pieces = std::vector<std::array<std::uint64_t, 4>>;
  EXPECT_EQ(pieces(7, 7), Pieces{});
  EXPECT_EQ(pieces(25, 25), Pieces{});
  EXPECT_EQ(pieces(2, 10), (Pieces{{0, 1028, 8, 0}}));
  EXPECT_EQ(pieces(8, 17), (Pieces{{0, 1040, 2, 0}, {2, 0, 5, 2}, {3, 1024, 2, 7}}));
  EXPECT_EQ(pieces(10, 11), (Pieces{{2, 0, 1, 0}}));
  EXPECT_EQ(pieces(24, 25), (Pieces{{3, 1042, 1, 0}}));
}

}  // namespace
}  // namespace lowtide
