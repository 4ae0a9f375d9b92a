#include "lowtide/loader/order/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace lowtide {
namespace {

std::vector<std::uint64_t> fill(const Sampler& sampler, std::uint64_t begin, std::uint64_t end) {
  std::vector<std::uint64_t> samples;
  sampler.fill(begin, end, samples);
  return samples;
}

TEST(Sampler, EveryEpochHasEverySampleOnceInAnotherOrder) {
  const Sampler sampler(Sampler::Kind::shuffled, 1000, 7);
  std::set<std::vector<std::uint64_t>> orders;
  for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
    auto samples = fill(sampler, epoch * 1000, (epoch + 1) * 1000);
    orders.insert(samples);
    std::sort(samples.begin(), samples.end());
    std::vector<std::uint64_t> all(1000);
    std::iota(all.begin(), all.end(), 0u);
    EXPECT_EQ(samples, all);
  }
  EXPECT_EQ(orders.size(), 5u);
}

TEST(Sampler, APartOfTheStreamIsTheSameWhereverItIsCut) {
  for (const auto kind : {Sampler::Kind::shuffled, Sampler::Kind::sequential, Sampler::Kind::sampled}) {
    const Sampler sampler(kind, 37, 1);
    const auto whole = fill(sampler, 0, 200);
    auto parts = fill(sampler, 0, 61);
    for (const std::uint64_t sample : fill(sampler, 61, 200)) parts.push_back(sample);
    EXPECT_EQ(parts, whole);
  }
}

TEST(Sampler, SequentialStartsAgainAtTheEnd) {
  EXPECT_EQ(fill(Sampler(Sampler::Kind::sequential, 3, 9), 1, 6), (std::vector<std::uint64_t>{1, 2, 0, 1, 2}));
}

TEST(Sampler, DrawsAreUniformAndDependOnTheSeed) {
  constexpr std::uint64_t bins = 64, draws = 640'000;
  const auto samples = fill(Sampler(Sampler::Kind::sampled, bins, 5), 0, draws);
  std::vector<double> counts(bins);
  for (const std::uint64_t sample : samples) ++counts.at(sample);
  const double expected = static_cast<double>(draws) / bins;
  double chi_square = 0;
  for (const double count : counts) chi_square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi_square, 130);  // 63 degrees of freedom: one in a million above
  const auto others = fill(Sampler(Sampler::Kind::sampled, bins, 6), 0, draws);
  std::uint64_t equal = 0;
  for (std::size_t i = 0; i < draws; ++i) equal += samples[i] == others[i] ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(equal), expected, expected / 10);
}

}  // namespace
}  // namespace lowtide
