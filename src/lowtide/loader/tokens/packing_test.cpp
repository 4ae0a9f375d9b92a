#include "lowtide/loader/tokens/packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"

namespace lowtide {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PackingTest : public testing::Test {
 protected:
  PackingTest() { set_budget(std::uint64_t{1_GiB}); }
};

Documents documents_of(const std::vector<std::uint64_t>& lengths) {
  std::vector<std::uint64_t> starts;
  std::uint64_t at = 0;
  for (const std::uint64_t length : lengths) {
    starts.push_back(at);
    at += length;
  }
  return Documents::from_starts(starts, at);
}

std::vector<std::uint64_t> log_normal(std::size_t count, double median, double sigma, unsigned seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> length(std::log(median), sigma);
  std::vector<std::uint64_t> lengths(count);
  for (auto& l : lengths) l = 1 + static_cast<std::uint64_t>(length(random));
  return lengths;
}

using Window = std::vector<std::pair<std::uint64_t, std::uint32_t>>;

std::vector<Window> windows_of(const Packing& packing) {
  std::vector<Window> windows(packing.window_count());
  for (std::uint64_t w = 0; w < packing.window_count(); ++w) {
    for (const PackedDocument& d : packing.window(w)) windows[w].emplace_back(d.begin, d.count);
  }
  return windows;
}

// Every promise of the header that can be seen from outside.
void expect_sound(const std::vector<std::uint64_t>& lengths, std::uint32_t capacity) {
  const Packing packing(documents_of(lengths), capacity);
  std::vector<PackedDocument> all;
  std::uint64_t tokens = 0;
  for (std::uint64_t w = 0; w < packing.window_count(); ++w) {
    const auto window = packing.window(w);
    ASSERT_FALSE(window.empty());
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < window.size(); ++i) {
      used += window[i].count;
      ASSERT_TRUE(i == 0 || window[i - 1].begin < window[i].begin);
    }
    ASSERT_LE(used, capacity);
    tokens += used;
    all.insert(all.end(), window.begin(), window.end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });

  std::size_t next = 0;
  std::uint64_t start = 0, dropped = 0, cut = 0;
  for (const std::uint64_t length : lengths) {
    cut += length > capacity;
    for (std::uint64_t done = 0; done < length;) {
      const std::uint64_t piece = std::min<std::uint64_t>(length - done, capacity);
      if (piece == 1) {
        ++dropped;
      } else {
        ASSERT_LT(next, all.size());
        ASSERT_EQ(all[next].begin, start + done);
        ASSERT_EQ(all[next].count, piece);
        ++next;
      }
      done += piece;
    }
    start += length;
  }
  ASSERT_EQ(next, all.size());
  ASSERT_EQ(packing.dropped_count(), dropped);
  ASSERT_EQ(packing.cut_count(), cut);
  const double places = static_cast<double>(packing.window_count()) * capacity;
  ASSERT_NEAR(packing.waste(), places == 0 ? 0 : 1 - static_cast<double>(tokens) / places, 1e-12);
}

// The usual way: a document goes into the last window, or opens the next.
std::uint64_t next_fit_count(const std::vector<std::uint64_t>& lengths, std::uint32_t capacity) {
  std::uint64_t windows = 0, room = 0;
  for (const std::uint64_t length : lengths) {
    windows += length / capacity;
    const std::uint64_t rest = length % capacity;
    if (rest < 2) continue;
    if (rest > room) {
      ++windows;
      room = capacity;
    }
    room -= rest;
  }
  return windows;
}

std::uint64_t least_count(const std::vector<std::uint64_t>& lengths, std::uint32_t capacity) {
  std::uint64_t windows = 0, rest_tokens = 0;
  for (const std::uint64_t length : lengths) {
    windows += length / capacity;
    rest_tokens += length % capacity < 2 ? 0 : length % capacity;
  }
  return windows + (rest_tokens + capacity - 1) / capacity;
}

TEST_F(PackingTest, PutsEachDocumentWhereItLeavesTheLeastRoom) {
  // 7 and 6 open windows; 4 fits the second best, 3 the first; 2 opens a third.
  const Packing packing(documents_of({2, 7, 4, 6, 3}), 10);
  EXPECT_THAT(windows_of(packing), ElementsAre(Window{{0, 2}}, Window{{2, 7}, {19, 3}}, Window{{9, 4}, {13, 6}}));
  EXPECT_DOUBLE_EQ(packing.waste(), 8.0 / 30);
  EXPECT_EQ(packing.cut_count(), 0u);
}

TEST_F(PackingTest, CutsLongDocumentsIntoFullWindowsAndARestThatIsPacked) {
  const Packing packing(documents_of({3, 24, 5}), 10);
  EXPECT_THAT(windows_of(packing),
              ElementsAre(Window{{0, 3}}, Window{{3, 10}}, Window{{13, 10}}, Window{{23, 4}, {27, 5}}));
  EXPECT_EQ(packing.cut_count(), 1u);
}

TEST_F(PackingTest, ADocumentAsLongAsAWindowIsNotCut) {
  const Packing packing(documents_of({10, 20}), 10);
  EXPECT_THAT(windows_of(packing), ElementsAre(Window{{0, 10}}, Window{{10, 10}}, Window{{20, 10}}));
  EXPECT_EQ(packing.cut_count(), 1u);
  EXPECT_EQ(packing.waste(), 0);
}

TEST_F(PackingTest, LeavesOutSingleTokensAndEmptyDocuments) {
  const Packing packing(documents_of({1, 0, 4, 11, 1, 0}), 10);
  EXPECT_THAT(windows_of(packing), ElementsAre(Window{{1, 4}}, Window{{5, 10}}));
  EXPECT_EQ(packing.dropped_count(), 3u);
}

TEST_F(PackingTest, NothingToPackIsNoWindows) {
  for (const auto& lengths : {std::vector<std::uint64_t>{}, {1, 1, 1}}) {
    const Packing packing(documents_of(lengths), 4);
    EXPECT_EQ(packing.window_count(), 0u);
    EXPECT_EQ(packing.waste(), 0);
  }
}

TEST_F(PackingTest, KeepsItsPromisesOnRandomDocumentsAndCapacities) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto capacity = static_cast<std::uint32_t>(2 + random() % (std::uint64_t{1} << (1 + random() % 31)));
    const std::uint64_t greatest = 1 + random() % (2 * std::uint64_t{capacity} + 8);
    std::vector<std::uint64_t> lengths(random() % 300);
    for (auto& length : lengths) length = random() % greatest;
    expect_sound(lengths, capacity);
    if (HasFatalFailure()) return;
  }
}

TEST_F(PackingTest, KeepsItsPromisesAcrossGroups) {
  expect_sound(log_normal(100'000, 400, 1.2, 1), 2048);
  expect_sound(std::vector<std::uint64_t>(70'000, 2), 2);
  // Each a little more than half: every document has a window of its own, which is the most that may be needed.
  expect_sound(std::vector<std::uint64_t>(70'000, 6), 10);
  expect_sound(std::vector<std::uint64_t>(70'000, (1u << 30) + 1000), 1u << 31);
}

TEST_F(PackingTest, IsTheSameEveryTime) {
  const Documents documents = documents_of(log_normal(80'000, 300, 1.5, 2));
  EXPECT_EQ(windows_of(Packing(documents, 1024)), windows_of(Packing(documents, 1024)));
}

TEST_F(PackingTest, WastesLittleOnLengthsAsTextHasThem) {
  struct Case {
    double median, sigma;
    std::uint32_t capacity;
  };
  for (const Case& c : {Case{400, 1.2, 2048}, Case{400, 1.2, 1024}, Case{400, 1.2, 8192}, Case{1500, 1.0, 2048},
                        Case{100, 0.8, 4096}, Case{6000, 1.5, 8192}}) {
    SCOPED_TRACE(c.capacity);
    const auto lengths = log_normal(100'000, c.median, c.sigma, 3);
    const Packing packing(documents_of(lengths), c.capacity);
    const auto best = static_cast<double>(least_count(lengths, c.capacity));
    const auto usual = static_cast<double>(next_fit_count(lengths, c.capacity));
    const auto ours = static_cast<double>(packing.window_count());
    EXPECT_LE(ours / best - 1, 0.01);
    EXPECT_LE(ours - best, (usual - best) / 20);
  }
}

TEST_F(PackingTest, HoldsItsPlanOnlyAndNamesItWhenTheBudgetIsTooSmall) {
  const Documents documents = documents_of(log_normal(200'000, 400, 1.2, 4));
  const std::uint64_t before = usage().held_bytes;
  {
    reset_peak();
    const Packing packing(documents, 1u << 30);
    EXPECT_LE(usage().held_bytes - before, 200'000u * 16 + 64_KiB);
    EXPECT_LE(usage().peak_bytes - before, 200'000u * 16 + 6_MiB);
    const Packing copy = packing;
  }
  EXPECT_LE(usage().held_bytes, before);
  const BudgetScope scope(std::uint64_t{2_MiB});
  try {
    const Packing packing(documents, 2048);
    FAIL();
  } catch (const BudgetError& e) {
    EXPECT_THAT(e.what(), HasSubstr("packing 200000 documents into windows of 2048 needs at least"));
  }
}

TEST_F(PackingTest, CanBeInterrupted) {
  const Documents documents = documents_of(std::vector<std::uint64_t>(1000, 100));
  const std::uint64_t before = usage().held_bytes;
  std::this_thread::sleep_for(std::chrono::milliseconds(interrupt_slice_ms + 1));  // the next point is due
  set_interrupt_hook([] { throw CancelledError("stop"); });
  EXPECT_THROW(Packing(documents, 1024), CancelledError);
  set_interrupt_hook(nullptr);
  EXPECT_LE(usage().held_bytes, before);
}

TEST_F(PackingTest, RefusesWindowsWithoutRoomForATarget) {
  EXPECT_THROW(Packing(documents_of({5}), 1), std::invalid_argument);
  EXPECT_THROW(Packing(documents_of({5}), 0), std::invalid_argument);
}

}  // namespace
}  // namespace lowtide
