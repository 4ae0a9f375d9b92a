#include "lowtide/permutation.h"

#include <fmt/format.h>

#include <bit>
#include <cassert>
#include <stdexcept>

#include "lowtide/base/checked.h"

namespace lowtide {
namespace {

constexpr std::uint64_t greatest_size = std::uint64_t{1} << 63;
constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;  // 2^64 / phi: the increment of SplitMix64
constexpr std::uint64_t first_multiplier = 0xBF58476D1CE4E5B9, second_multiplier = 0x94D049BB133111EB;

// The finaliser of SplitMix64.
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ z >> 30) * first_multiplier;
  z = (z ^ z >> 27) * second_multiplier;
  return z ^ z >> 31;
}

// The upper bits of a product are its best.
std::uint64_t round_bits(std::uint64_t half, std::uint64_t key, int bits) {
  std::uint64_t z = (half ^ key) * first_multiplier;
  z = (z ^ z >> 32) * second_multiplier;
  return z >> (64 - bits);
}

}  // namespace

Permutation::Permutation(std::uint64_t n, std::uint64_t seed, std::uint64_t stream) : n_(n) {
  if (n == 0 || n > greatest_size)
    throw std::invalid_argument(fmt::format("a permutation of {}: 1 to 2^63 are possible", n));
  std::uint64_t state = mixed(mixed(mixed(seed + golden) ^ stream) + n * golden);
  if (n <= most_in_table) {
    fill_table(state);
    return;
  }
  const int bits = std::bit_width(n - 1);
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
  for (std::uint64_t& key : keys_) key = mixed(state += golden);
}

// Fisher and Yates' shuffle.
void Permutation::fill_table(std::uint64_t state) {
  for (std::uint64_t i = 0; i < n_; ++i) {
    const std::uint64_t at = multiply_high(mixed(state += golden), i + 1);
    table_[i] = table_[at];
    table_[at] = static_cast<std::uint8_t>(i);
  }
  for (std::uint64_t i = 0; i < n_; ++i) places_[table_[i]] = static_cast<std::uint8_t>(i);
}

// A permutation of all values of the network's bits. What leaves [0, n) is sent on until it is back: its cycle comes from there.
std::uint64_t Permutation::operator()(std::uint64_t position) const {
  assert(position < n_);
  if (n_ <= most_in_table) return table_[position];
  std::uint64_t value = position;
  do {
    std::uint64_t left = value >> right_bits_, right = value & ((std::uint64_t{1} << right_bits_) - 1);
    for (std::size_t round = 0; round < keys_.size(); round += 2) {
      left ^= round_bits(right, keys_[round], left_bits_);
      right ^= round_bits(left, keys_[round + 1], right_bits_);
    }
    value = left << right_bits_ | right;
  } while (value >= n_);
  return value;
}

std::uint64_t Permutation::inverse(std::uint64_t index) const {
  assert(index < n_);
  if (n_ <= most_in_table) return places_[index];
  std::uint64_t value = index;
  do {
    std::uint64_t left = value >> right_bits_, right = value & ((std::uint64_t{1} << right_bits_) - 1);
    for (std::size_t round = keys_.size(); round > 0; round -= 2) {
      right ^= round_bits(left, keys_[round - 1], right_bits_);
      left ^= round_bits(right, keys_[round - 2], left_bits_);
    }
    value = left << right_bits_ | right;
  } while (value >= n_);
  return value;
}

}  // namespace lowtide
