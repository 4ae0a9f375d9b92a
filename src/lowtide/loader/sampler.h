// Which sample stands at which position of the stream: a pure function of (seed, position).
//
//   Sampler sampler(Sampler::Kind::shuffled, n, seed);
//   sampler.fill(begin, end, samples);              // samples[i] = the sample at position begin + i, each < n
//
// Shuffled: every epoch is another permutation of all samples. Sequential: 0, 1, 2, … over and over. Sampled: uniformly random,
// with replacement.
//
// Immutable; thread-safe: pure.
#pragma once

#include <cstdint>
#include <vector>

namespace lowtide {

class Sampler {
 public:
  enum class Kind : std::uint8_t { shuffled, sequential, sampled };
  Sampler(Kind kind, std::uint64_t sample_count, std::uint64_t seed) : kind_(kind), count_(sample_count), seed_(seed) {}

  Kind kind() const { return kind_; }
  std::uint64_t sample_count() const { return count_; }
  void fill(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& samples) const;

 private:
  Kind kind_;
  std::uint64_t count_;
  std::uint64_t seed_;
};

}  // namespace lowtide
