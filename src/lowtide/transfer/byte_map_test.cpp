#include "lowtide/transfer/byte_map.h"

#include <gtest/gtest.h>

#include "lowtide/transfer/byte_addresses.h"

namespace lowtide {
namespace {

using Values = std::vector<std::int64_t>;
constexpr std::int64_t header_bytes = 64;
const Values c_strides{24, 8}, fortran_strides{8, 32};
const Slice all{};

// Of a file of int64 of shape (4, 3).
ByteMap lowered(const Selection& selection, const Values& strides = c_strides) {
  return lower(selection, header_bytes, strides, 8);
}
Selection whole() { return Selection::whole({4, 3}); }

Values elements(const ByteMap& map) {
  Values found;
  for_each_address(map, [&](const auto&, std::int64_t address) { found.push_back((address - header_bytes) / 8); });
  return found;
}

TEST(ByteMap, NamesTheAddressOfEveryElementInOrder) {
  EXPECT_EQ(lowered(whole()).size_bytes(), 96u);
  EXPECT_EQ(elements(lowered(whole().rows(1, 3))), (Values{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(elements(lowered(whole().rows(1, 3), fortran_strides)), (Values{1, 5, 9, 2, 6, 10}));
}

TEST(ByteMap, SharesTheTablesOfItsSelection) {
  const Values rows{3, 0, 3}, columns{2, 1, 0};
  const Selection s = whole().index({IndexArray{rows.data(), {3}, {8}}, IndexArray{columns.data(), {3}, {8}}});
  const ByteMap map = lowered(s);
  ASSERT_EQ(map.tables.size(), 2u);
  EXPECT_EQ(map.tables[0].entries.first, s.tables()[0].entries.first);
  EXPECT_EQ(map.tables[0].scale_bytes, 24);
  EXPECT_EQ(map.tables[1].scale_bytes, 8);
  EXPECT_EQ(elements(map), (Values{11, 1, 9}));
  EXPECT_EQ(elements(lowered(s, fortran_strides)), (Values{11, 4, 3}));
}

TEST(ByteMap, IsContiguousWhenCOrderIsFileOrder) {
  const Values rows{0, 1};
  EXPECT_TRUE(lowered(whole()).contiguous());
  EXPECT_TRUE(lowered(whole().rows(1, 3)).contiguous());
  EXPECT_TRUE(lowered(whole().rows(2, 2)).contiguous());
  EXPECT_TRUE(lowered(whole().index({std::int64_t{2}, NewAxis{}, Slice{0, 2, {}}})).contiguous());
  EXPECT_FALSE(lowered(whole().index({all, Slice{0, 2, {}}})).contiguous());
  EXPECT_FALSE(lowered(whole(), fortran_strides).contiguous());
  EXPECT_FALSE(lowered(whole().index({Slice{{}, {}, -1}})).contiguous());
  EXPECT_FALSE(lowered(whole().index({IndexArray{rows.data(), {2}, {8}}})).contiguous());
  EXPECT_TRUE(lower(Selection::whole({}), header_bytes, {}, 8).contiguous());
}

}  // namespace
}  // namespace lowtide
