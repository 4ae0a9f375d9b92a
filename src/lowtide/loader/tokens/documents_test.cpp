#include "lowtide/loader/tokens/documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lowtide/base/fault.h"
#include "lowtide/error.h"
#include "lowtide/loader/tokens/test_documents.h"

namespace lowtide {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DocumentsFromEot : public DocumentsTest {
 protected:
  TokenStream tokens(const std::vector<std::uint16_t>& values, const std::string& name = "t.bin") const {
    return TokenStream::open({write(name, bytes_of(values))}, {.dtype = DType::uint16});
  }
};

Starts span_of(const Documents& documents, std::uint64_t begin, std::uint64_t end) {
  const auto starts = documents.starts(begin, end);
  return {starts.begin(), starts.end()};
}

TEST_F(DocumentsFromEot, StartAtTheBeginningAndAfterEachEnd) {
  const Documents documents = Documents::from_eot(tokens({5, 6, 0, 7, 0, 0, 8, 9}), 0);
  EXPECT_THAT(starts_of(documents), ElementsAre(0, 3, 5, 6));
  EXPECT_THAT(lengths_of(documents), ElementsAre(3, 2, 1, 2));
}

TEST_F(DocumentsFromEot, AnEndAtTheVeryEndStartsNoEmptyDocument) {
  EXPECT_THAT(starts_of(Documents::from_eot(tokens({5, 0, 6, 0}), 0)), ElementsAre(0, 2));
  EXPECT_THAT(starts_of(Documents::from_eot(tokens({0}), 0)), ElementsAre(0));
  EXPECT_THAT(starts_of(Documents::from_eot(tokens({1, 2}), 0)), ElementsAre(0));
}

TEST_F(DocumentsFromEot, RunOnFromOneShardIntoTheNext) {
  const std::vector<std::string> paths = {write("a.bin", bytes_of<std::uint16_t>({1, 0, 2})), write("b.bin", ""),
                                          write("c.bin", bytes_of<std::uint16_t>({3, 0})),
                                          write("d.bin", bytes_of<std::uint16_t>({4, 5}))};
  const Documents documents = Documents::from_eot(TokenStream::open(paths, {.dtype = DType::uint16}), 0);
  EXPECT_THAT(starts_of(documents), ElementsAre(0, 2, 5));
  EXPECT_EQ(documents.end(2), 7u);
}

TEST_F(DocumentsFromEot, AreFoundInTheByteOrderOfTheFile) {
  std::string npy("\x93NUMPY\x01\x00\x76\x00", 10);
  std::string dict = "{'descr': '>u4', 'fortran_order': False, 'shape': (5,), }";
  dict.resize(117, ' ');
  npy += dict + "\n" + bytes_of<std::uint32_t>({7, 0x01020304, 0x04030201, 0x01020304, 9}, true);
  const Documents documents = Documents::from_eot(TokenStream::open({write("t.npy", npy)}, {}), 0x01020304);
  EXPECT_THAT(starts_of(documents), ElementsAre(0, 2, 4));
}

class DocumentsFromEotInEveryMode : public DocumentsFromEot, public testing::WithParamInterface<const char*> {
 protected:
  io::ForcedMode mode_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Every, DocumentsFromEotInEveryMode,
                         testing::Values("uring", "threads", "dontcache", "buffered"));

TEST_P(DocumentsFromEotInEveryMode, AreFoundInManyBlocksWithinSmallBudgets) {
  std::mt19937 random(1);
  std::vector<std::uint16_t> values(3'000'000);
  Starts expected = {0};
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::uint16_t>(random() % 300 == 0 ? 50256 : random() % 50256);
    if (values[i] == 50256 && i + 1 < values.size()) expected.push_back(i + 1);
  }
  const TokenStream stream = tokens(values);
  for (const std::uint64_t budget : {2_MiB, 64_MiB}) {
    const BudgetScope scope(budget);
    reset_peak();
    const Documents documents = Documents::from_eot(stream, 50256);
    EXPECT_LE(usage().peak_bytes, budget);
    EXPECT_EQ(usage().by_purpose.at("index"), round_up(8 * expected.size(), page_bytes));
    ASSERT_EQ(starts_of(documents), expected);
  }
  EXPECT_EQ(usage().by_purpose.count("index"), 0u);
}

// Every request fails in turn: an error each time, and nothing stays held.
TEST_P(DocumentsFromEotInEveryMode, AFailedReadLeavesNothingBehind) {
  const TokenStream stream = tokens(std::vector<std::uint16_t>(400'000, 1));
  const std::uint64_t before = usage().held_bytes;
  std::int64_t nth = 1;
  for (bool failed = true; failed; ++nth) {
    io::TestFolder::make_cold(folder_ / "t.bin");
    const fault::Scope fault({.stage = fault::Stage::complete, .nth = nth, .error = EIO});
    try {
      Documents::from_eot(stream, 0);
      failed = false;
      EXPECT_LT(fault::seen(fault::Stage::complete), nth);
    } catch (const IoError& e) {
      EXPECT_EQ(e.code(), EIO);
      EXPECT_LE(usage().held_bytes, before);
    }
  }
  EXPECT_GT(nth, 2);
}

TEST_F(DocumentsFromEot, LengthsOfAnyNumberOfBytesAreKept) {
  // On both sides of each power of 128, and enough single tokens between them to need a second chunk.
  std::vector<std::uint16_t> values;
  Starts expected = {0};
  for (const std::size_t length : {1, 127, 128, 129, 16383, 16384, 16385, 2097151, 2097152, 2097153}) {
    values.insert(values.end(), length - 1, 1);
    values.push_back(0);
    expected.push_back(values.size());
    for (int i = 0; i < 40'000; ++i) {
      values.push_back(0);
      expected.push_back(values.size());
    }
  }
  expected.pop_back();
  EXPECT_EQ(starts_of(Documents::from_eot(tokens(values), 0)), expected);
}

TEST_F(DocumentsFromEot, AreLookedUpByRange) {
  const Documents documents = Documents::from_eot(tokens({5, 6, 0, 7, 0, 0, 8, 9}), 0);  // 0 3 5 6
  EXPECT_THAT(span_of(documents, 0, 8), ElementsAre(0, 3, 5, 6));
  EXPECT_THAT(span_of(documents, 1, 6), ElementsAre(3, 5));
  EXPECT_THAT(span_of(documents, 3, 4), ElementsAre(3));
  EXPECT_THAT(span_of(documents, 4, 5), IsEmpty());
  EXPECT_THAT(span_of(documents, 7, 100), IsEmpty());
  EXPECT_THAT(span_of(documents, 3, 3), IsEmpty());
}

TEST_F(DocumentsFromEot, ATokenThatTheDtypeCannotHoldIsRefused) {
  try {
    Documents::from_eot(tokens({1, 2}), 100257);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("t.bin can be 100257: its tokens are uint16"));
  }
}

TEST_F(DocumentsFromEot, AnIndexThatDoesNotFitTheBudgetIsRefusedByName) {
  const TokenStream stream = tokens(std::vector<std::uint16_t>(600'000, 0));
  const std::uint64_t before = usage().held_bytes;
  for (const auto& [budget, words] :
       {std::pair{4_MiB, "index of 600000 documents in "}, std::pair{1_MiB, "index of more than "}}) {
    const BudgetScope scope(budget);
    try {
      Documents::from_eot(stream, 0);
      ADD_FAILURE();
    } catch (const BudgetError& e) {
      EXPECT_THAT(e.what(), HasSubstr(words));
    }
    EXPECT_LE(usage().held_bytes, before);
  }
}

TEST_F(DocumentsFromEot, CanBeInterrupted) {
  const TokenStream stream = tokens({1, 0, 2});
  const std::uint64_t before = usage().held_bytes;
  std::this_thread::sleep_for(std::chrono::milliseconds(interrupt_slice_ms + 1));  // the next point is due
  set_interrupt_hook([] { throw CancelledError("stop"); });
  EXPECT_THROW(Documents::from_eot(stream, 0), CancelledError);
  EXPECT_LE(usage().held_bytes, before);
}

TEST_F(DocumentsFromEot, AFileThatChangedIsNotIndexed) {
  const TokenStream stream = tokens({1, 0, 2});
  write("t.bin", bytes_of<std::uint16_t>({0, 1, 2, 3}));
  EXPECT_THROW(Documents::from_eot(stream, 0), DataChangedError);
}

TEST_F(DocumentsTest, GivenStartsAreCheckedAndEmptyDocumentsLeftOut) {
  const Starts starts = {0, 0, 4, 9, 9};
  const Documents documents = Documents::from_starts(starts, 9);
  EXPECT_THAT(starts_of(documents), ElementsAre(0, 4));
  EXPECT_THAT(lengths_of(documents), ElementsAre(4, 5));
  EXPECT_EQ(Documents::from_starts({}, 5).count(), 0u);
  EXPECT_THAT(span_of(Documents::from_starts({}, 5), 0, 5), IsEmpty());
  EXPECT_THROW(Documents::from_starts(Starts{3, 2}, 9), std::invalid_argument);
  EXPECT_THROW(Documents::from_starts(Starts{3, 10}, 9), std::invalid_argument);
}

}  // namespace
}  // namespace lowtide
