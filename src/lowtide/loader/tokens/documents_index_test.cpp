#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "lowtide/base/fault.h"
#include "lowtide/error.h"
#include "lowtide/loader/tokens/documents.h"
#include "lowtide/loader/tokens/test_documents.h"

namespace lowtide {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Megatron's arrays as they stand in the file, right or wrong.
struct Idx {
  std::vector<std::int32_t> lengths;
  std::vector<std::int64_t> pointers, documents;
  char code = 8;
  std::string modes = "";

  // Contiguous sequences of these lengths, `per_document` in each document but the last.
  static Idx of(const std::vector<std::int32_t>& lengths, std::size_t per_document = 1, std::int64_t item = 2) {
    Idx idx{.lengths = lengths, .pointers = {}, .documents = {0}};
    std::int64_t at = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      idx.pointers.push_back(at);
      at += lengths[i] * item;
      if ((i + 1) % per_document == 0 || i + 1 == lengths.size())
        idx.documents.push_back(static_cast<std::int64_t>(i) + 1);
    }
    return idx;
  }

  std::string bytes() const {
    std::string out("MMIDIDX\0\0", 9);
    put<std::uint64_t>(out, 1);
    out += code;
    put<std::uint64_t>(out, lengths.size());
    put<std::uint64_t>(out, documents.size());
    return out + bytes_of(lengths) + bytes_of(pointers) + bytes_of(documents) + modes;
  }
};

class DocumentsFromIndex : public DocumentsTest {
 protected:
  TokenStream megatron(const Idx& idx, std::size_t bin_bytes) const {
    write("m.bin", std::string(bin_bytes, '\1'));
    write("m.idx", idx.bytes());
    return TokenStream::open({folder_ / "m.bin"}, {});
  }
  std::string refusal(const Idx& idx, std::size_t bin_bytes) const {
    try {
      Documents::from_index(megatron(idx, bin_bytes));
      return "accepted";
    } catch (const FormatError& e) {
      return e.what();
    }
  }
};

class DocumentsFromIndexInEveryMode : public DocumentsFromIndex, public testing::WithParamInterface<const char*> {
 protected:
  io::ForcedMode mode_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Every, DocumentsFromIndexInEveryMode,
                         testing::Values("uring", "threads", "dontcache", "buffered"));

TEST_P(DocumentsFromIndexInEveryMode, AreReadFromAnIndexOfManyPieces) {
  std::mt19937 random(2);
  std::vector<std::int32_t> lengths(150'000);
  for (auto& length : lengths) length = static_cast<std::int32_t>(random() % 5);
  const Idx idx = Idx::of(lengths, 2);
  Starts expected;
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < lengths.size(); i += 2) {
    const auto length = static_cast<std::uint64_t>(lengths[i] + lengths[i + 1]);
    if (length > 0) expected.push_back(at);
    at += length;
  }
  const TokenStream stream = megatron(idx, 2 * at);
  for (const std::uint64_t budget : {2_MiB, 64_MiB}) {
    const BudgetScope scope(budget);
    reset_peak();
    const Documents documents = Documents::from_index(stream);
    EXPECT_LE(usage().peak_bytes, budget);
    EXPECT_EQ(usage().by_purpose.at("index"), round_up(8 * 75'000, page_bytes));
    ASSERT_EQ(starts_of(documents), expected);
    EXPECT_EQ(documents.end(documents.count() - 1), at);
  }
}

// Every request fails in turn: an error each time, and nothing stays held.
TEST_P(DocumentsFromIndexInEveryMode, AFailedReadLeavesNothingBehind) {
  const TokenStream stream = megatron(Idx::of(std::vector<std::int32_t>(30'000, 1)), 60'000);
  const std::uint64_t before = usage().held_bytes;
  std::int64_t nth = 1;
  for (bool failed = true; failed; ++nth) {
    io::TestFolder::make_cold(folder_ / "m.idx");
    const fault::Scope fault({.stage = fault::Stage::complete, .nth = nth, .error = EIO});
    try {
      Documents::from_index(stream);
      failed = false;
      EXPECT_LT(fault::seen(fault::Stage::complete), nth);
    } catch (const IoError& e) {
      EXPECT_EQ(e.code(), EIO);
      EXPECT_LE(usage().held_bytes, before);
    }
  }
  EXPECT_GT(nth, 5);
}

TEST_F(DocumentsFromIndex, AnIndexThatDoesNotFitTheBudgetIsRefusedBeforeItIsRead) {
  const Idx idx = Idx::of(std::vector<std::int32_t>(300'000, 1));
  const TokenStream stream = megatron(idx, 600'000);
  const BudgetScope scope(std::uint64_t{2_MiB});
  const fault::Scope fault({.stage = fault::Stage::complete, .nth = 1'000'000, .error = EIO});
  try {
    Documents::from_index(stream);
    FAIL();
  } catch (const BudgetError& e) {
    EXPECT_THAT(e.what(), HasSubstr("index of 300000 documents in " + folder_ / "m.bin needs at least"));
  }
  EXPECT_LE(fault::seen(fault::Stage::complete), 1);
}

TEST_F(DocumentsFromIndex, ADocumentMayHaveManySequencesOrNone) {
  Idx idx = Idx::of({3, 2, 4, 0, 1});
  idx.documents = {0, 0, 2, 2, 3, 4, 5, 5};  // the third begins with the sequence of no tokens
  const Documents documents = Documents::from_index(megatron(idx, 20));
  EXPECT_THAT(starts_of(documents), ElementsAre(0, 5, 9));
  EXPECT_THAT(lengths_of(documents), ElementsAre(5, 4, 1));
}

TEST_F(DocumentsFromIndex, TheLastDocumentsMayBeEmpty) {
  Idx idx = Idx::of({3, 0, 0});
  EXPECT_THAT(starts_of(Documents::from_index(megatron(idx, 6))), ElementsAre(0));
}

TEST_F(DocumentsFromIndex, ModesAreIgnored) {
  Idx idx = Idx::of({3, 2});
  idx.modes = "\1\0";
  idx.modes.resize(2);
  EXPECT_THAT(starts_of(Documents::from_index(megatron(idx, 10))), ElementsAre(0, 3));
}

TEST_F(DocumentsFromIndex, ShardsFollowEachOther) {
  const auto pair = [&](const std::string& name, const std::vector<std::int32_t>& lengths) {
    Idx idx = Idx::of(lengths, 1, 4);
    idx.code = 4;
    write(name + ".idx", idx.bytes());
    return write(name + ".bin", std::string(4 * std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}), '\0'));
  };
  const TokenStream stream = TokenStream::open({pair("a", {3, 0}), pair("b", {}), pair("c", {2, 5})}, {});
  const Documents documents = Documents::from_index(stream);
  EXPECT_THAT(starts_of(documents), ElementsAre(0, 3, 5));
  EXPECT_EQ(documents.end(2), 10u);
}

TEST_F(DocumentsFromIndex, EveryWrongNumberIsNamed) {
  const Idx right = Idx::of({3, 2, 4});
  ASSERT_EQ(refusal(right, 18), "accepted");
  const auto with = [&](auto change) {
    Idx idx = right;
    change(idx);
    return refusal(idx, 18);
  };
  const std::string path = folder_ / "m.idx: ";
  EXPECT_EQ(with([](Idx& i) { i.lengths[1] = -2; }), path + "sequence_lengths[1] is -2; expected 0 or more");
  EXPECT_EQ(with([](Idx& i) { i.lengths[1] = 3; }),
            path + "sequence_pointers[2] is 10; expected 12, where the sequences before it end");
  EXPECT_EQ(with([](Idx& i) { i.lengths[2] = 2147483647; }),
            path + "sequence_lengths[2] is 2147483647; expected at most 4: it begins at byte 10 of " +
                folder_ / "m.bin, which has 18 bytes");
  EXPECT_EQ(with([](Idx& i) { i.lengths[2] = 3; }),
            path + "its 3 sequences end at byte 16 of " + folder_ / "m.bin, which has 18 bytes");
  EXPECT_EQ(with([](Idx& i) { i.pointers[0] = 2; }),
            path + "sequence_pointers[0] is 2; expected 0, where the sequences before it end");
  EXPECT_EQ(with([](Idx& i) { i.pointers[1] = 7; }),
            path + "sequence_pointers[1] is 7; expected 6, where the sequences before it end");
  EXPECT_EQ(with([](Idx& i) { i.pointers[2] = -10; }),
            path + "sequence_pointers[2] is -10; expected 10, where the sequences before it end");
  EXPECT_EQ(with([](Idx& i) { i.documents[0] = 1; }),
            path + "document_indices[0] is 1; expected 0, the first sequence");
  EXPECT_EQ(with([](Idx& i) { i.documents[3] = 2; }),
            path + "document_indices[3] is 2; expected 3, the number of sequences");
  const std::string between = ": from the one before it to the number of sequences";
  EXPECT_EQ(with([](Idx& i) { i.documents = {0, 2, 1, 3}; }),
            path + "document_indices[2] is 1; expected 2 to 3" + between);
  EXPECT_EQ(with([](Idx& i) { i.documents[1] = 4; }), path + "document_indices[1] is 4; expected 0 to 3" + between);
  EXPECT_EQ(with([](Idx& i) { i.documents[1] = -1; }), path + "document_indices[1] is -1; expected 0 to 3" + between);
  EXPECT_EQ(with([](Idx& i) { i.documents = {0}; }),
            path + "document_indices[0] is 0; expected 3, the number of sequences");
  EXPECT_EQ(with([](Idx& i) { i.documents = {0, 1, 2, 3, 3, 9, 3}; }),
            path + "document_indices[5] is 9; expected 3 to 3" + between);
}

TEST_F(DocumentsFromIndex, AStreamWithoutAnIndexIsRefusedByName) {
  const TokenStream stream =
      TokenStream::open({write("t.bin", bytes_of<std::uint16_t>({1, 2, 3}))}, {.dtype = DType::uint16});
  try {
    Documents::from_index(stream);
    FAIL();
  } catch (const FormatError& e) {
    EXPECT_THAT(e.what(), HasSubstr("t.bin has no index of documents"));
  }
}

TEST_F(DocumentsFromIndex, CanBeInterrupted) {
  const TokenStream stream = megatron(Idx::of({3, 2}), 10);
  const std::uint64_t before = usage().held_bytes;
  std::this_thread::sleep_for(std::chrono::milliseconds(interrupt_slice_ms + 1));  // the next point is due
  set_interrupt_hook([] { throw CancelledError("stop"); });
  EXPECT_THROW(Documents::from_index(stream), CancelledError);
  EXPECT_LE(usage().held_bytes, before);
}

TEST_F(DocumentsFromIndex, AFileThatChangedIsNotIndexed) {
  const TokenStream stream = megatron(Idx::of({3, 2}), 10);
  write("m.idx", Idx::of({2, 3, 0}).bytes());
  EXPECT_THROW(Documents::from_index(stream), DataChangedError);
}

}  // namespace
}  // namespace lowtide
