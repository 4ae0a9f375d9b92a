#include "lowtide/memory/budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "lowtide/base/units.h"
#include "lowtide/error.h"

namespace lowtide {
namespace {

using testing::HasSubstr;

std::string refusal(Budget& budget, std::uint64_t bytes) {
  try {
    budget.take(bytes, Purpose::results, "reading x.npy");
  } catch (const BudgetError& error) {
    EXPECT_EQ(error.needed_bytes(), bytes);
    return error.what();
  }
  return "granted";
}

TEST(Budget, CountsWhatIsHeldByPurpose) {
  Budget budget(10_MiB);
  const Lease a = budget.take(1_MiB, Purpose::results, "a");
  const Lease b = budget.take(2_MiB, Purpose::cache, "b");
  const Usage usage = budget.usage();
  EXPECT_EQ(usage.held_bytes, 3_MiB);
  EXPECT_EQ(usage.by_purpose.at("results"), 1_MiB);
  EXPECT_EQ(usage.by_purpose.at("cache"), 2_MiB);
}

TEST(Budget, GivesBackWhenALeaseGoes) {
  Budget budget(10_MiB);
  {
    const Lease lease = budget.take(10_MiB, Purpose::results, "a");
  }
  EXPECT_EQ(budget.usage().held_bytes, 0u);
  EXPECT_EQ(budget.usage().peak_bytes, 10_MiB);
}

TEST(Budget, NeverGrantsMoreThanItsLimit) {
  Budget budget(4_MiB);
  const Lease lease = budget.take(3_MiB, Purpose::results, "a");
  EXPECT_FALSE(budget.try_take(1_MiB + 1, Purpose::results));
  EXPECT_TRUE(budget.try_take(1_MiB, Purpose::results));
}

TEST(Budget, RefusalNamesTheOperationTheNumbersTheHoldersAndALineToType) {
  Budget budget(4_MiB);
  const Lease lease = budget.take(3_MiB, Purpose::results, "a");
  const std::string text = refusal(budget, 2_MiB);
  EXPECT_THAT(text, HasSubstr("reading x.npy needs at least 2 MiB"));
  EXPECT_THAT(text, HasSubstr("the budget is 4 MiB"));
  EXPECT_THAT(text, HasSubstr("results 3 MiB"));
  EXPECT_THAT(text, HasSubstr("set_budget(\"5MiB\")"));
}

TEST(Budget, WaitsForTransientBytesAndIsGrantedWhenTheyCome) {
  Budget budget(4_MiB);
  std::optional<Lease> staging = budget.take(3_MiB, Purpose::staging, "a");
  std::atomic<bool> granted{false};
  std::thread waiter([&] {
    const Lease lease = budget.take(2_MiB, Purpose::results, "b");
    granted = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(granted);
  staging.reset();
  waiter.join();
  EXPECT_TRUE(granted);
}

TEST(Budget, DoesNotWaitForResultsThatACallerMayKeepForEver) {
  Budget budget(4_MiB);
  const Lease results = budget.take(3_MiB, Purpose::results, "a");
  const Lease staging = budget.take(512_KiB, Purpose::staging, "b");
  EXPECT_THAT(refusal(budget, 2_MiB), HasSubstr("needs at least"));
}

// In another thread, which is joined: a lease is that thread's.
Lease taken_elsewhere(Budget& budget, std::uint64_t bytes, Purpose purpose) {
  Lease lease;
  std::thread([&] { lease = budget.take(bytes, purpose, "elsewhere"); }).join();
  return lease;
}

TEST(Budget, WaitsAWhileForResultsOfOtherThreads) {
  Budget budget(4_MiB);
  budget.set_wait(600);
  Lease results = taken_elsewhere(budget, 3_MiB, Purpose::results);
  std::atomic<bool> granted{false};
  std::thread waiter([&] {
    const Lease lease = budget.take(2_MiB, Purpose::results, "b");
    granted = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(granted);
  results.release();
  waiter.join();
  EXPECT_TRUE(granted);
}

TEST(Budget, DoesNotWaitForWhatItsOwnThreadHolds) {
  Budget budget(4_MiB);
  budget.set_wait(600);
  const Lease staging = budget.take(3_MiB, Purpose::staging, "an operation");
  EXPECT_THAT(refusal(budget, 2_MiB), HasSubstr("staging 3 MiB"));  // a callback of it
}

TEST(Budget, DoesNotWaitForAThreadInACallback) {
  Budget budget(4_MiB);
  budget.set_wait(600);
  Lease staging;
  std::atomic<bool> ready{false}, stop{false};
  std::thread saving([&] {
    staging = budget.take(3_MiB, Purpose::staging, "saving");
    const Budget::Callback progress(budget);
    ready = true;
    while (!stop) std::this_thread::yield();
  });
  while (!ready) std::this_thread::yield();
  EXPECT_THAT(refusal(budget, 2_MiB), HasSubstr("staging 3 MiB"));
  stop = true;
  saving.join();
}

TEST(Budget, RefusesWhenAllWhoHoldSomethingWait) {
  Budget budget(4_MiB);
  budget.set_wait(600);
  std::atomic<int> holding{0}, refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      const Lease first = budget.take(2_MiB, Purpose::results, "first");
      ++holding;
      while (holding < 2) std::this_thread::yield();
      if (refusal(budget, 2_MiB) != "granted") ++refused;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GE(refused, 1);
}

TEST(Budget, WhoHasWaitedLongestIsNotOvertaken) {
  Budget budget(4_MiB);
  budget.set_wait(600);
  Lease half = taken_elsewhere(budget, 2_MiB, Purpose::staging);
  std::thread large([&] { const Lease lease = budget.take(4_MiB, Purpose::results, "large"); });
  while (budget.try_take(4_KiB, Purpose::staging)) std::this_thread::yield();  // until it waits
  EXPECT_FALSE(budget.try_take_between(4_KiB, 1_MiB, Purpose::staging));
  std::atomic<bool> granted{false};
  std::thread small([&] {
    const Lease lease = budget.take(1_MiB, Purpose::results, "small");
    granted = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(granted);
  half.release();
  large.join();
  small.join();
  EXPECT_EQ(budget.usage().held_bytes, 0u);
}

class Shelf final : public Evictable {
 public:
  std::uint64_t evict(std::uint64_t) override {
    const std::uint64_t bytes = kept_.bytes();
    kept_.release();
    return bytes;
  }
  Lease kept_;
};

TEST(Budget, EvictsBeforeItRefuses) {
  Budget budget(4_MiB);
  Shelf shelf;
  shelf.kept_ = budget.take(4_MiB, Purpose::cache, "a");
  budget.add_evictable(&shelf);
  const Lease lease = budget.take(3_MiB, Purpose::results, "b");
  EXPECT_EQ(budget.usage().held_bytes, 3_MiB);
}

TEST(Budget, ALoweredLimitRefusesUntilEnoughIsReleased) {
  Budget budget(8_MiB);
  std::optional<Lease> lease = budget.take(6_MiB, Purpose::results, "a");
  budget.set_limit(4_MiB, "test");
  EXPECT_EQ(budget.spare_bytes(), 0u);
  EXPECT_FALSE(budget.try_take(1, Purpose::results));
  lease.reset();
  EXPECT_TRUE(budget.try_take(4_MiB, Purpose::results));
}

TEST(Lease, SplitsAndAbsorbsWithoutChangingTheTotal) {
  Budget budget(8_MiB);
  Lease lease = budget.take(6_MiB, Purpose::results, "a");
  Lease part = lease.split(2_MiB, Purpose::staging);
  EXPECT_EQ(lease.bytes(), 4_MiB);
  EXPECT_EQ(budget.usage().by_purpose.at("staging"), 2_MiB);
  lease.absorb(std::move(part));
  EXPECT_EQ(lease.bytes(), 6_MiB);
  EXPECT_EQ(budget.usage().by_purpose.at("results"), 6_MiB);
  lease.shrink(1_MiB);
  EXPECT_EQ(budget.usage().held_bytes, 1_MiB);
}

TEST(Budget, ManyThreadsNeverOvershootAndNeverDeadlock) {
  Budget budget(8_MiB);
  std::atomic<bool> overshot{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const Lease lease = budget.take(1_MiB + static_cast<std::uint64_t>(t) * 512_KiB, Purpose::staging, "work");
        const Lease spare = budget.try_take_between(4_KiB, 1_MiB, Purpose::staging);
        if (budget.usage().held_bytes > 8_MiB) overshot = true;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(overshot);
  EXPECT_EQ(budget.usage().held_bytes, 0u);
}

Budget* asked = nullptr;
Lease garbage;
int last_resorts = 0;

class LastResort : public testing::Test {
 protected:
  LastResort() {
    asked = &budget_;
    last_resorts = 0;
    garbage = budget_.take(80, Purpose::results, "garbage");
  }
  ~LastResort() override {
    set_last_resort(nullptr);
    garbage = {};
  }
  Budget budget_{100};
};

TEST_F(LastResort, IsTriedAgainWhenSomebodyElseTookWhatItFreed) {
  set_last_resort([] {
    garbage.release();
    if (++last_resorts < 3) garbage = asked->take(80, Purpose::results, "faster");
  });
  EXPECT_EQ(budget_.take(60, Purpose::results, "read").bytes(), 60u);
  EXPECT_EQ(last_resorts, 3);
}

TEST_F(LastResort, IsTriedOnceWhenNothingComesBack) {
  set_last_resort([] { ++last_resorts; });
  EXPECT_THROW(budget_.take(60, Purpose::results, "read"), BudgetError);
  EXPECT_EQ(last_resorts, 1);
}

TEST_F(LastResort, EndsInARefusalWhenSomebodyElseIsAlwaysFaster) {
  set_last_resort([] {
    garbage.release();
    ++last_resorts;
    garbage = asked->take(80, Purpose::results, "faster");
  });
  EXPECT_THROW(budget_.take(60, Purpose::results, "read"), BudgetError);
  EXPECT_LE(last_resorts, 16);
}

}  // namespace
}  // namespace lowtide
