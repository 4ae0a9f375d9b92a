// Arithmetic on sizes taken from files and callers: a result, or nothing where it does not fit.
//
//   std::optional<std::uint64_t> bytes = checked_multiply(rows, row_bytes);
//   if (!bytes) throw FormatError(…);
//
// Thread-safe: pure functions.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>

namespace lowtide {

template <class T>
concept SizeInteger = std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>;

template <SizeInteger T>
constexpr std::optional<T> checked_multiply(T a, T b) {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

template <SizeInteger T>
constexpr std::optional<T> checked_add(T a, T b) {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

__extension__ using Wide = unsigned __int128;

// a * b / c, rounded down. REQUIRES: the result fits.
constexpr std::uint64_t multiply_divide(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b / c);
}
// The upper half of a * b: `a`, taken as a fraction of 2^64, of `b`.
constexpr std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>((static_cast<Wide>(a) * b) >> 64);
}

}  // namespace lowtide
