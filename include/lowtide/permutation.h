// A shuffle of [0, n) that needs no memory: position to index and back, in constant time, for n from 1 to 2^63.
//
//   lowtide::Permutation p(n, seed);
//   std::uint64_t index = p(position);          // every index exactly once
//   p.inverse(index) == position;
//
// A cycle-walking Feistel network over the least number of bits (6 or more) that holds n - 1; its keys come from (seed, stream), so
// that epochs of one seed differ (stream = epoch). The order of (n, seed, stream) is a promise: it is the same on every machine and
// in every release, since checkpoints depend on it.
//
// Immutable; thread-safe; never allocates.
#pragma once

#include <array>
#include <cstdint>

namespace lowtide {

class Permutation {
 public:
  // Throws std::invalid_argument unless 1 <= n <= 2^63.
  explicit Permutation(std::uint64_t n, std::uint64_t seed = 0, std::uint64_t stream = 0);

  std::uint64_t size() const { return n_; }
  std::uint64_t operator()(std::uint64_t position) const;  // REQUIRES: position < size()
  std::uint64_t inverse(std::uint64_t index) const;        // REQUIRES: index < size()

 private:
  static constexpr int round_count = 8;  // with 6, pairs of n = 64 are unequally frequent
  std::uint64_t n_;
  int left_bits_, right_bits_;
  std::array<std::uint64_t, round_count> keys_;
};

}  // namespace lowtide
