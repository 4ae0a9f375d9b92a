// A shuffle of [0, n) that needs no memory: position to index and back, in constant time, for n from 1 to 2^63.
//
//   lowtide::Permutation p(n, seed);
//   std::uint64_t index = p(position);          // every index exactly once
//   p.inverse(index) == position;
//
// A cycle-walking Feistel network over the least number of bits that holds n - 1; up to 32, a table. Its keys come from (n, seed,
// stream), so that epochs of one seed differ (stream = epoch), and data sets of nearly the same size are unrelated. The order of
// (n, seed, stream) is a promise: it is the same on every machine and in every release, since checkpoints depend on it.
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
  static constexpr int round_count = 8;               // with 6, pairs of n = 64 are unequally frequent
  static constexpr std::uint64_t most_in_table = 32;  // a network of 6 bits would be left 64 / n times on the way
  void fill_table(std::uint64_t state);

  std::uint64_t n_;
  int left_bits_ = 0, right_bits_ = 0;
  std::array<std::uint64_t, round_count> keys_{};
  std::array<std::uint8_t, most_in_table> table_{}, places_{};
};

}  // namespace lowtide
