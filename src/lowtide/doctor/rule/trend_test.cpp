#include "lowtide/doctor/rule/trend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace lowtide::doctor {
namespace {

struct Series {
  std::vector<double> times, values;
};

Series series(std::size_t count, const std::function<double(double)>& value, double noise = 0) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> spread(-noise, noise);
  Series s;
  for (std::size_t i = 0; i < count; ++i) {
    const double t = static_cast<double>(i) / static_cast<double>(count);
    s.times.push_back(t), s.values.push_back(value(t) + spread(random));
  }
  return s;
}

bool growing(const Series& s) { return trend_of(s.times, s.values, 5).growing; }

TEST(Trend, ASlopeIsTheMedianAndNotMovedByOutliers) {
  Series s = series(100, [](double t) { return 100 * t; });
  s.values[50] = 1e9, s.values[99] = -1e9;
  EXPECT_NEAR(theil_sen(s.times, s.values), 100, 1e-6);
}

TEST(Trend, SteadyGrowthIsGrowth) {
  EXPECT_TRUE(growing(series(100, [](double t) { return 100 * t; }, 2)));
}
TEST(Trend, AFewSamplesAreEnoughForALine) {
  EXPECT_TRUE(growing(series(12, [](double t) { return 100 * t; })));
}
TEST(Trend, APlateauIsNot) {
  EXPECT_FALSE(growing(series(100, [](double t) { return 100 * std::min(t, 0.4); }, 2)));
}
TEST(Trend, AStepIsNot) {
  EXPECT_FALSE(growing(series(100, [](double t) { return t > 0.7 ? 100.0 : 0.0; }, 2)));
}
TEST(Trend, ASawtoothIsNot) {
  EXPECT_FALSE(growing(series(100, [](double t) { return 100 * std::fmod(9 * t, 1.0); })));
}
TEST(Trend, ACacheThatFillsIsNot) {
  EXPECT_FALSE(growing(series(100, [](double t) { return 100 * (1 - std::exp(-8 * t)); })));
}
// Looks when the machine has time for them.
Series looked_at_irregularly(unsigned seed, const std::function<double(double)>& value) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> pause(60);
  Series s;
  for (double t = 0; t < 1; t += 0.004 + pause(random)) s.times.push_back(t), s.values.push_back(value(t));
  return s;
}

TEST(Trend, ASawtoothOfTenTeethIsNotHoweverItIsLookedAt) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> tooth(0.08, 0.12);
    std::vector<double> ends = {tooth(random)};
    while (ends.back() < 1) ends.push_back(ends.back() + tooth(random));
    const Series s = looked_at_irregularly(seed, [&](double t) {
      const auto next = std::upper_bound(ends.begin(), ends.end(), t);
      return 700 * (t - (next == ends.begin() ? 0 : *(next - 1)));
    });
    EXPECT_FALSE(growing(s)) << seed;
  }
}

TEST(Trend, SteadyGrowthIsGrowthHoweverItIsLookedAt) {
  for (unsigned seed = 0; seed < 3000; ++seed)
    EXPECT_TRUE(growing(looked_at_irregularly(seed, [](double t) { return 100 * t; }))) << seed;
}

TEST(Trend, GrowthUnderASawtoothIsGrowth) {
  EXPECT_TRUE(growing(series(200, [](double t) { return 100 * t + 20 * std::fmod(37 * t, 1.0); })));
}

TEST(Trend, TheChangeIsWhereTheLastRegimeBegins) {
  const Series s = series(100, [](double t) { return t < 0.3 ? 10.0 : 10 + 300 * (t - 0.3); });
  EXPECT_NEAR(static_cast<double>(change_point(s.times, s.values)), 30, 2);
}

TEST(Trend, ALineHasNoChange) {
  const Series s = series(100, [](double t) { return 300 * t; }, 1);
  EXPECT_EQ(change_point(s.times, s.values), 0u);
}

TEST(Trend, LowPointsAreTheFloorOfASawtooth) {
  const Series s = series(100, [](double t) { return 100 * std::fmod(20 * t, 1.0); });
  for (const std::size_t i : low_points(s.times, s.values, 8)) EXPECT_LT(s.values[i], 1);
}

}  // namespace
}  // namespace lowtide::doctor
