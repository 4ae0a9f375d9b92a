#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "lowtide/loader/tokens/documents.h"

namespace lowtide {
namespace {

using testing::Each;
using testing::ElementsAre;

struct Row {
  std::vector<std::int32_t> starts;
  bool ends_at_block = false;
  std::int64_t valid = 0;
};

struct Marked {
  std::vector<std::int32_t> positions, cu_seqlens;
  std::vector<int> mask;
  std::int32_t longest = 0;
  bool operator==(const Marked&) const = default;
};

Marked mark(const std::vector<Row>& rows, std::int64_t block) {
  const std::size_t places = rows.size() * static_cast<std::size_t>(block);
  std::vector<std::int32_t> positions(places, -7), cu_seqlens(places + 1, -7);
  std::vector<std::uint8_t> mask(places, 7);
  Marker marker({positions.data(), mask.data(), cu_seqlens.data()}, block);
  for (const Row& row : rows) marker.row(row.starts, row.ends_at_block, row.valid);
  cu_seqlens.resize(static_cast<std::size_t>(marker.finish()));
  return {positions, cu_seqlens, {mask.begin(), mask.end()}, marker.longest()};
}

// The definition, place by place: each belongs to a document, or to the padding of its row.
Marked mark_by_definition(const std::vector<Row>& rows, std::int64_t block) {
  Marked marked;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row& row = rows[r];
    const auto document_of = [&](std::int64_t i) -> std::ptrdiff_t {
      if (i >= row.valid && row.valid < block) return -1;
      if (i == block && row.ends_at_block) return -2;
      return std::count_if(row.starts.begin(), row.starts.end(), [&](std::int32_t s) { return s > 0 && s <= i; });
    };
    for (std::int64_t i = 0; i < block; ++i) {
      const bool first = i == 0 || document_of(i) != document_of(i - 1);
      if (first) marked.cu_seqlens.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(r) * block + i));
      marked.positions.push_back(first ? 0 : marked.positions.back() + 1);
      marked.mask.push_back(document_of(i) >= 0 && document_of(i) == document_of(i + 1));
      marked.longest = std::max(marked.longest, marked.positions.back() + 1);
    }
  }
  marked.cu_seqlens.push_back(static_cast<std::int32_t>(rows.size()) * static_cast<std::int32_t>(block));
  return marked;
}

TEST(Marker, MarksDocumentsAndPaddingAsTheHeaderShows) {
  const Marked m = mark({{{2, 5}, false, 6}}, 8);
  EXPECT_THAT(m.positions, ElementsAre(0, 1, 0, 1, 2, 0, 0, 1));
  EXPECT_THAT(m.mask, ElementsAre(1, 0, 1, 1, 0, 0, 0, 0));
  EXPECT_THAT(m.cu_seqlens, ElementsAre(0, 2, 5, 6, 8));
  EXPECT_EQ(m.longest, 3);
}

TEST(Marker, ARowOfOneDocumentIsOneSegmentWhoseLastTargetCounts) {
  const Marked m = mark({{{}, false, 4}, {{0}, false, 4}}, 4);
  EXPECT_THAT(m.positions, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(m.mask, Each(1));
  EXPECT_THAT(m.cu_seqlens, ElementsAre(0, 4, 8));
  EXPECT_EQ(m.longest, 4);
}

TEST(Marker, ADocumentThatBeginsAfterTheWindowMasksTheLastTargetOnly) {
  const Marked m = mark({{{}, true, 4}}, 4);
  EXPECT_THAT(m.mask, ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(m.cu_seqlens, ElementsAre(0, 4));
}

TEST(Marker, PaddingMasksTheTargetOfTheLastTokenWhateverFollowsTheWindow) {
  EXPECT_THAT(mark({{{}, false, 3}}, 4).mask, ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(mark({{{}, true, 3}}, 4).mask, ElementsAre(1, 1, 0, 0));
}

TEST(Marker, PaddingIsASegmentAndMayBeTheLongest) {
  const Marked m = mark({{{}, false, 1}, {{}, false, 0}}, 4);
  EXPECT_THAT(m.positions, ElementsAre(0, 0, 1, 2, 0, 1, 2, 3));
  EXPECT_THAT(m.cu_seqlens, ElementsAre(0, 1, 4, 8));
  EXPECT_THAT(m.mask, Each(0));
  EXPECT_EQ(m.longest, 4);
}

TEST(Marker, DocumentsOfOneTokenFillTheBoundsAndNotOneMore) {
  const Marked m = mark({{{0, 1, 2, 3}, true, 4}, {{1, 2}, false, 3}}, 4);
  EXPECT_THAT(m.cu_seqlens, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(m.positions, Each(0));
  EXPECT_THAT(m.mask, Each(0));
}

TEST(Marker, NoRowsAreOneBound) {
  const Marked m = mark({}, 16);
  EXPECT_THAT(m.cu_seqlens, ElementsAre(0));
  EXPECT_EQ(m.longest, 0);
}

TEST(Marker, LeavesOutWhatIsNotWanted) {
  Marker none({}, 8);
  none.row(std::vector<std::int32_t>{3}, false, 6);
  EXPECT_EQ(none.finish(), 4);
  EXPECT_EQ(none.longest(), 3);

  std::vector<std::uint8_t> mask(4);
  Marker only_mask({.mask = mask.data()}, 4);
  only_mask.row(std::vector<std::int32_t>{2}, false, 4);
  EXPECT_THAT(mask, ElementsAre(1, 0, 1, 1));
}

TEST(Marker, AgreesWithTheDefinitionOnRandomBatches) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const std::int64_t block = 1 + random() % 40;
    const unsigned every = 1 + random() % 12;
    std::vector<Row> rows(random() % 5);
    for (Row& row : rows) {
      row.valid = random() % 2 == 0 ? block : random() % (block + 1);
      row.ends_at_block = random() % 2 == 0;
      for (std::int32_t i = 0; i < block; ++i) {
        if (random() % every == 0) row.starts.push_back(i);
      }
    }
    ASSERT_EQ(mark(rows, block), mark_by_definition(rows, block)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace lowtide
