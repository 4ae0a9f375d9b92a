#include "lowtide/loader/tokens/fit_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace lowtide {
namespace {

TEST(FitTable, GivesTheTightestWindowAndOfEqualOnesTheLast) {
  FitTable table(100, 4);
  EXPECT_EQ(table.take_tightest(1), FitTable::none);
  table.add(0, 50);
  table.add(1, 20);
  table.add(2, 20);
  table.add(3, 100);
  EXPECT_EQ(table.take_tightest(20), 2u);
  EXPECT_EQ(table.take_tightest(20), 1u);
  EXPECT_EQ(table.take_tightest(20), 0u);
  EXPECT_EQ(table.take_tightest(100), 3u);
  EXPECT_EQ(table.take_tightest(1), FitTable::none);
}

TEST(FitTable, IsEmptyWhenCleared) {
  FitTable table(100'000, 3);
  for (const std::uint32_t window : {0u, 1u, 2u}) table.add(window, window * 40'000);
  table.clear();
  EXPECT_EQ(table.take_tightest(1), FitTable::none);
  table.add(1, 7);
  EXPECT_EQ(table.take_tightest(7), 1u);
  EXPECT_EQ(table.take_tightest(1), FitTable::none);
}

// Against a multimap: the same room where rooms are told apart, one that is larger by no more than the slack where they are not.
TEST(FitTable, AgreesWithAnOrderedMapAtEveryCapacity) {
  for (const std::uint32_t capacity : {2u, 63u, 64u, 4096u, 300'000u, 1u << 20, (1u << 20) + 1, 1u << 26, UINT32_MAX}) {
    SCOPED_TRACE(capacity);
    std::mt19937 random(capacity);
    constexpr std::uint32_t window_count = 500;
    FitTable table(capacity, window_count);
    const std::uint32_t slack = FitTable::slack(capacity);
    EXPECT_LE(slack, capacity >> 19);
    EXPECT_EQ(slack == 0, capacity <= 1u << 20);
    std::multimap<std::uint64_t, std::uint32_t> model;
    std::map<std::uint32_t, std::uint32_t> room_of;
    for (int step = 0; step < 20'000; ++step) {
      const std::uint32_t window = random() % window_count;
      if (!room_of.contains(window)) {
        const auto room = static_cast<std::uint32_t>(random() % (std::uint64_t{capacity} + 1));
        table.add(window, room);
        model.emplace(room, window);
        room_of.emplace(window, room);
      }
      if (random() % 2 == 0) continue;
      const auto tokens = static_cast<std::uint32_t>(1 + random() % capacity);
      const std::uint32_t taken = table.take_tightest(tokens);
      const auto sure = model.lower_bound(std::uint64_t{tokens} + slack);
      if (taken == FitTable::none) {
        ASSERT_EQ(sure, model.end());
        continue;
      }
      const std::uint64_t room = room_of.at(taken);
      ASSERT_GE(room, tokens);
      ASSERT_TRUE(sure == model.end() || room <= sure->first + slack);
      for (auto it = model.lower_bound(room); it != model.end(); ++it) {
        if (it->second != taken) continue;
        model.erase(it);
        break;
      }
      room_of.erase(taken);
    }
  }
}

}  // namespace
}  // namespace lowtide
