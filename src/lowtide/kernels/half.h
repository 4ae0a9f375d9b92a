// The two 16-bit floats: IEEE binary16 (float16) and bfloat16, as stored, and their conversions.
//
//   Float16 h = to_float16(0.1f);      // rounded once, to nearest, ties to even; subnormals kept
//   float x = to_float(h);             // exact
//
// Thread-safe: pure functions. Bits agree with NumPy's for float16; for bfloat16 with ml_dtypes' from float32 (from
// wider types ml_dtypes rounds twice, through float32; here once). Assumes the default rounding mode; a thread that
// flushes subnormals to zero gets the same results.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace lowtide {

struct Float16 {
  std::uint16_t bits;  // 1 sign, 5 exponent, 10 mantissa
};
struct BFloat16 {
  std::uint16_t bits;  // 1 sign, 8 exponent, 7 mantissa
};

namespace half_detail {

template <class Float>
struct Wide;
template <>
struct Wide<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa_bits = 23, bias = 127;
};
template <>
struct Wide<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa_bits = 52, bias = 1023;
};

// Rounds the magnitude of x to the 16-bit format; NaN gives `nan_bits(magnitude)`.
template <int exponent_bits, int mantissa_bits, class Float, class NanBits>
constexpr std::uint16_t narrow(Float x, NanBits nan_bits) {
  using W = Wide<Float>;
  using Bits = typename W::Bits;
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  constexpr int dropped_bits = W::mantissa_bits - mantissa_bits;
  constexpr Bits sign_bit = Bits{1} << (8 * sizeof(Bits) - 1);
  constexpr Bits infinity = (sign_bit - 1) >> W::mantissa_bits << W::mantissa_bits;
  constexpr Bits overflow = Bits{W::bias + bias + 1} << W::mantissa_bits;      // 2^(bias + 1)
  constexpr Bits least_normal = Bits{W::bias + 1 - bias} << W::mantissa_bits;  // 2^(1 - bias)
  // One unit in the last place of this number is the narrow format's least subnormal: adding it rounds there.
  constexpr Bits subnormal_rounder = Bits{W::bias + 1 - bias + dropped_bits} << W::mantissa_bits;
  constexpr Bits rebias = Bits{W::bias - bias} << W::mantissa_bits;

  const Bits bits = std::bit_cast<Bits>(x);
  const Bits magnitude = bits & ~sign_bit;
  Bits result = 0;
  if (magnitude > infinity) {
    result = nan_bits(magnitude);
  } else if (magnitude >= overflow) {
    result = Bits{(1u << exponent_bits) - 1} << mantissa_bits;
  } else if (magnitude < least_normal) {
    result = std::bit_cast<Bits>(std::bit_cast<Float>(magnitude) + std::bit_cast<Float>(subnormal_rounder)) -
             subnormal_rounder;
  } else {
    const Bits odd = magnitude >> dropped_bits & 1;
    const Bits below_half = (Bits{1} << (dropped_bits - 1)) - 1;
    result = (magnitude - rebias + below_half + odd) >> dropped_bits;
  }
  const Bits sign = bits >> (8 * sizeof(Bits) - 16) & 0x8000u;
  return static_cast<std::uint16_t>(result | sign);
}

}  // namespace half_detail

template <class Float>
  requires std::is_floating_point_v<Float>
constexpr Float16 to_float16(Float x) {
  // NumPy keeps the top of a NaN's payload.
  constexpr auto nan_bits = []<class Bits>(Bits magnitude) -> Bits {
    const Bits payload = magnitude >> (half_detail::Wide<Float>::mantissa_bits - 10) & 0x3FFu;
    return 0x7C00u | (payload == 0 ? 1u : payload);
  };
  return {half_detail::narrow<5, 10>(x, nan_bits)};
}

constexpr BFloat16 to_bfloat16(double x) {
  return {half_detail::narrow<8, 7>(x, [](std::uint64_t) -> std::uint64_t { return 0x7FC0; })};
}

constexpr BFloat16 to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) >> 16;
  const bool nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  return {static_cast<std::uint16_t>(nan ? (bits >> 16 & 0x8000u) | 0x7FC0u : rounded)};
}

constexpr float to_float(Float16 half) {
  constexpr std::uint32_t exponent_mask = 0x7C00u << 13, rebias = (127u - 15u) << 23;
  const std::uint32_t shifted = (half.bits & 0x7FFFu) << 13;
  const std::uint32_t exponent = shifted & exponent_mask;
  std::uint32_t magnitude = shifted + rebias;
  if (exponent == exponent_mask) {
    magnitude += rebias;
  } else if (exponent == 0) {
    // 2^-14 * (1 + mantissa) less 2^-14.
    constexpr std::uint32_t least_normal = 113u << 23;
    magnitude =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude + (1u << 23)) - std::bit_cast<float>(least_normal));
  }
  return std::bit_cast<float>(magnitude | (half.bits & 0x8000u) << 16);
}

constexpr float to_float(BFloat16 half) { return std::bit_cast<float>(std::uint32_t{half.bits} << 16); }

}  // namespace lowtide
