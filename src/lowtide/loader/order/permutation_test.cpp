#include "lowtide/permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace lowtide {
namespace {

constexpr std::uint64_t two_to(int power) { return std::uint64_t{1} << power; }

std::vector<std::uint64_t> order_of(const Permutation& permutation) {
  std::vector<std::uint64_t> order(permutation.size());
  for (std::uint64_t i = 0; i < order.size(); ++i) order[i] = permutation(i);
  return order;
}

std::vector<std::uint64_t> fisher_yates(std::uint64_t n) {
  std::vector<std::uint64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(n));
  return order;
}

bool holds_every_index_once(const std::vector<std::uint64_t>& order) {
  std::vector<bool> seen(order.size());
  for (const std::uint64_t index : order) {
    if (index >= order.size() || seen[index]) return false;
    seen[index] = true;
  }
  return true;
}

bool inverts(const Permutation& permutation, const std::vector<std::uint64_t>& order) {
  for (std::uint64_t i = 0; i < order.size(); ++i)
    if (permutation.inverse(order[i]) != i) return false;
  return true;
}

TEST(Permutation, GivesEveryIndexOnceAndInvertsAtEverySmallSize) {
  for (std::uint64_t n = 1; n <= 4096; ++n) {
    const Permutation permutation(n, n, 3);
    const auto order = order_of(permutation);
    ASSERT_TRUE(holds_every_index_once(order)) << n;
    ASSERT_TRUE(inverts(permutation, order)) << n;
  }
}

TEST(Permutation, GivesEveryIndexOnceAroundPowersOfTwo) {
  for (int power = 1; power <= 24; ++power) {
    for (const std::uint64_t n : {two_to(power) - 1, two_to(power), two_to(power) + 1}) {
      const Permutation permutation(n, 11);
      const auto order = order_of(permutation);
      ASSERT_TRUE(holds_every_index_once(order)) << n;
      ASSERT_TRUE(power > 20 || inverts(permutation, order)) << n;
    }
  }
}

TEST(Permutation, InvertsAtSizesUpToTheGreatest) {
  std::mt19937_64 bits(1);
  std::vector<std::uint64_t> sizes = {two_to(63), two_to(63) - 1, two_to(62) + 1, two_to(62), two_to(32) + 1};
  for (int i = 0; i < 200; ++i) sizes.push_back(1 + (bits() >> (1 + bits() % 62)));
  for (const std::uint64_t n : sizes) {
    const Permutation permutation(n, bits(), bits());
    for (const std::uint64_t position : {std::uint64_t{0}, n / 2, n - 1, bits() % n, bits() % n}) {
      const std::uint64_t index = permutation(position);
      ASSERT_LT(index, n);
      ASSERT_EQ(permutation.inverse(index), position) << n;
    }
  }
}

// Expected values: the model of tests/test_permutation.py, written independently in Python.
TEST(Permutation, KeepsItsOrderFromReleaseToRelease) {
  using Order = std::vector<std::uint64_t>;
  EXPECT_EQ(order_of(Permutation(10)), (Order{1, 3, 9, 6, 7, 2, 0, 8, 4, 5}));
  EXPECT_EQ(order_of(Permutation(10, 1)), (Order{7, 5, 3, 2, 8, 0, 1, 9, 4, 6}));
  EXPECT_EQ(order_of(Permutation(10, 0, 1)), (Order{9, 6, 1, 5, 4, 7, 2, 3, 0, 8}));
  EXPECT_EQ(Permutation(488'000'000, 1234, 5)(487'999'999), 190'938'351u);
  EXPECT_EQ(Permutation(two_to(40) + 1, UINT64_MAX, UINT64_MAX)(two_to(40)), 403'269'202'074u);
  EXPECT_EQ(Permutation(two_to(63), 7, 9)(two_to(63) - 1), 7'462'700'322'366'911'245u);
}

// The same seed for data sets of nearly the same size, or the sources of a mixture.
TEST(Permutation, OrdersOfNeighbouringSizesAreUnrelated) {
  for (const std::uint64_t n : {20u, 1000u, 100'000u}) {
    std::uint64_t agreeing = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const Permutation one(n, seed), other(n + 1, seed);
      for (std::uint64_t i = 0; i < n; ++i) agreeing += one(i) == other(i);
    }
    EXPECT_LT(agreeing, 50u + 5 * 8u) << n;
  }
}

TEST(Permutation, RefusesSizesItCannotHave) {
  EXPECT_THROW(Permutation(0), std::invalid_argument);
  EXPECT_THROW(Permutation(two_to(63) + 1), std::invalid_argument);
  EXPECT_THROW(Permutation(UINT64_MAX), std::invalid_argument);
}

// Two unrelated orders agree at one place on average.
TEST(Permutation, OrdersOfNeighbouringSeedsAndStreamsAreUnrelated) {
  constexpr std::uint64_t n = 1000, pair_count = 400;
  std::uint64_t by_seed = 0, by_stream = 0, swapped = 0;
  for (std::uint64_t s = 0; s < pair_count; ++s) {
    const auto order = order_of(Permutation(n, s, s + 1));
    const auto next_seed = order_of(Permutation(n, s + 1, s + 1)), next_stream = order_of(Permutation(n, s, s + 2));
    const auto exchanged = order_of(Permutation(n, s + 1, s));
    for (std::uint64_t i = 0; i < n; ++i) {
      by_seed += order[i] == next_seed[i];
      by_stream += order[i] == next_stream[i];
      swapped += order[i] == exchanged[i];
    }
  }
  for (const std::uint64_t agreeing : {by_seed, by_stream, swapped}) EXPECT_NEAR(agreeing, pair_count, 100);  // 5 sigma
}

struct NeighbourStatistics {
  double entropy_bits = 0;       // of |p(i + 1) - p(i)|
  double distinct_xor_part = 0;  // distinct p(i) ^ p(i + 1) among the first half million pairs, as a part of them
  double same_64th_part = 0;     // neighbours within the same 64th of [0, n)
};

NeighbourStatistics neighbours(const std::vector<std::uint64_t>& order) {
  const std::uint64_t n = order.size(), pair_count = n - 1,
                      xor_pair_count = std::min<std::uint64_t>(500'000, pair_count);
  std::vector<std::uint32_t> differences(n);
  std::vector<bool> xors(std::bit_ceil(n));
  NeighbourStatistics result;
  for (std::uint64_t i = 0; i < pair_count; ++i) {
    const std::uint64_t a = order[i], b = order[i + 1];
    ++differences[a < b ? b - a : a - b];
    if (i < xor_pair_count) xors[a ^ b] = true;
    result.same_64th_part += a * 64 / n == b * 64 / n;
  }
  for (const std::uint32_t count : differences) {
    const double part = static_cast<double>(count) / static_cast<double>(pair_count);
    if (count > 0) result.entropy_bits -= part * std::log2(part);
  }
  result.distinct_xor_part = static_cast<double>(std::count(xors.begin(), xors.end(), true)) / xor_pair_count;
  result.same_64th_part /= static_cast<double>(pair_count);
  return result;
}

// The tolerances are 4 deviations or more of the difference between two Fisher-Yates shuffles.
TEST(Permutation, NeighboursLookLikeThoseOfAFisherYatesShuffle) {
  for (const std::uint64_t n : {std::uint64_t{1'000'000}, two_to(20), two_to(20) + 1, two_to(21) - 1, two_to(19) + 1}) {
    const NeighbourStatistics expected = neighbours(fisher_yates(n));
    for (const std::uint64_t seed : {0, 1, 2}) {
      const NeighbourStatistics ours = neighbours(order_of(Permutation(n, seed)));
      EXPECT_NEAR(ours.entropy_bits, expected.entropy_bits, 0.008) << n << " seed " << seed;
      EXPECT_NEAR(ours.distinct_xor_part, expected.distinct_xor_part, 0.003) << n << " seed " << seed;
      EXPECT_NEAR(ours.same_64th_part, expected.same_64th_part, 0.001) << n << " seed " << seed;
    }
  }
}

double chi_square(const std::vector<std::uint64_t>& counts, double expected) {
  double sum = 0;
  for (const std::uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    sum += off * off / expected;
  }
  return sum;
}

// 5 deviations above the mean of the distribution.
double chi_square_bound(double degrees) { return degrees + 5 * std::sqrt(2 * degrees); }

TEST(Permutation, AllOrdersOfFiveAppearEquallyOften) {
  constexpr std::uint64_t seed_count = 60'000;
  for (const bool streams : {false, true}) {
    std::vector<std::uint64_t> places(25);
    std::map<std::vector<std::uint64_t>, std::uint64_t> orders;
    for (std::uint64_t s = 0; s < seed_count; ++s) {
      const auto order = order_of(streams ? Permutation(5, 0, s) : Permutation(5, s));
      for (std::uint64_t i = 0; i < 5; ++i) ++places[i * 5 + order[i]];
      ++orders[order];
    }
    EXPECT_LT(chi_square(places, seed_count / 5.0), chi_square_bound(16));
    ASSERT_EQ(orders.size(), 120u);
    std::vector<std::uint64_t> counts;
    for (const auto& [order, count] : orders) counts.push_back(count);
    EXPECT_LT(chi_square(counts, seed_count / 120.0), chi_square_bound(119));
  }
}

TEST(Permutation, PairsOfSmallSizesAppearEquallyOften) {
  constexpr std::uint64_t seed_count = 100'000;
  for (const std::uint64_t n : {2, 3, 8, 16, 17, 33, 64, 100}) {
    for (const std::uint64_t other : {std::uint64_t{1}, n / 2, n - 1}) {
      std::vector<std::uint64_t> pairs(n * (n - 1));
      for (std::uint64_t seed = 0; seed < seed_count; ++seed) {
        const Permutation permutation(n, seed);
        const std::uint64_t a = permutation(0), b = permutation(other);
        ++pairs[a * (n - 1) + b - (b > a)];
      }
      const auto pair_count = static_cast<double>(pairs.size());
      EXPECT_LT(chi_square(pairs, seed_count / pair_count), chi_square_bound(pair_count - 1))
          << n << " 0 and " << other;
    }
  }
}

}  // namespace
}  // namespace lowtide
