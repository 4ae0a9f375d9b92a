// Which sample stands at which position of the stream: a pure function of (seed, position).
//
//   Sampler sampler(Sampler::Kind::shuffled, n, seed);
//   sampler.fill(begin, end, samples);              // samples[i] = the sample at position begin + i, each < n
//
// Shuffled: every epoch is another permutation of all samples. Sequential: 0, 1, 2, … over and over. Sampled: uniformly random,
// with replacement. Windowed: as a WindowOrder has them.
//
// Immutable; thread-safe: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lowtide/loader/order/window_order.h"

namespace lowtide {

class Sampler {
 public:
  enum class Kind : std::uint8_t { shuffled, sequential, sampled, windowed };
  Sampler(Kind kind, std::uint64_t sample_count, std::uint64_t seed) : kind_(kind), count_(sample_count), seed_(seed) {}

  explicit Sampler(const WindowOrder& order)
      : kind_(Kind::windowed), count_(order.options().row_count), seed_(order.options().seed), windows_(order) {}

  Kind kind() const { return kind_; }
  std::uint64_t sample_count() const { return count_; }
  void fill(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& samples) const;

 private:
  Kind kind_;
  std::uint64_t count_;
  std::uint64_t seed_;
  std::optional<WindowOrder> windows_;
};

}  // namespace lowtide
