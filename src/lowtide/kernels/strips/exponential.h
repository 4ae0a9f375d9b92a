// exp, exp2 and pow of batches, over the whole range: subnormal results are rounded once, overflow is infinity.
#pragma once

#include "lowtide/kernels/strips/batch.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

template <class B>
using Part = typename B::value_type;
template <class B>
using BitsOf = xsimd::batch<std::conditional_t<sizeof(Part<B>) == 4, std::uint32_t, std::uint64_t>>;

template <class B>
constexpr bool is_double = sizeof(Part<B>) == 8;

// The polynomial with these coefficients, the highest first.
template <class B, class... T>
[[gnu::always_inline]] inline B horner(B x, Part<B> highest, T... others) {
  B sum(highest);
  ((sum = fused(sum, x, B(Part<B>(others)))), ...);
  return sum;
}

// 2^n of a whole n in the range of normal numbers: its exponent comes out of the last bits of n + 1.5 * 2^mantissa_bits.
template <class B>
[[gnu::always_inline]] inline B power_of_two(B n) {
  constexpr int mantissa_bits = is_double<B> ? 52 : 23;
  const B shifted = n + B(is_double<B> ? Part<B>(0x1.8p52 + 1023) : Part<B>(0x1.8p23 + 127));
  return xsimd::bitwise_cast<B>(xsimd::bitwise_cast<BitsOf<B>>(shifted) << mantissa_bits);
}

// y * 2^n for n of twice the range.
template <class B>
[[gnu::always_inline]] inline B scale(B y, B n) {
  const B half = xsimd::floor(n * B(Part<B>(0.5)));
  return y * power_of_two(half) * power_of_two(n - half);
}

// exp(r + low) for |r| up to ln 2 / 2 and a low that r has no bits for: the Taylor series, of which the first term left
// out is below a tenth of the last place.
template <class B>
[[gnu::always_inline]] inline B exp_near_zero(B r, B low) {
  using T = Part<B>;
  B sum;
  if constexpr (is_double<B>)
    sum = horner(r, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5);
  else
    sum = horner(r, 1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f);
  return B(T(1)) + (r + fused(sum, r * r, low));
}

// ln 2 in two parts; the first has as few bits as leaves its product with an exponent exact.
template <class B>
constexpr Part<B> ln2_high = is_double<B> ? Part<B>(0x1.62e42fefa0000p-1) : Part<B>(0.693359375);
template <class B>
constexpr Part<B> ln2_low = is_double<B> ? Part<B>(0x1.cf79abc9e3b3ap-40) : Part<B>(-2.12194440e-4);

// exp(x + low), x from -800 to 800, or -120 to 120 in float32.
template <class B>
[[gnu::always_inline]] inline B exp_bounded(B x, B low) {
  using T = Part<B>;
  const B n = xsimd::nearbyint(x * B(T(1.44269504088896340736)));
  const B high = x - n * B(ln2_high<B>), rest = low - n * B(ln2_low<B>);
  const B r = high + rest;
  return scale(exp_near_zero(r, rest - (r - high)), n);
}

template <class B>
[[gnu::always_inline]] inline B clamp(B x, double limit) {
  const auto most = B(Part<B>(limit));
  return xsimd::select(x > most, most, xsimd::select(x < -most, -most, x));
}

template <class B>
[[gnu::always_inline]] inline B exp_of(B x) {
  return exp_bounded(clamp(x, is_double<B> ? 800 : 120), B(Part<B>(0)));
}

template <class B>
[[gnu::always_inline]] inline B exp2_of(B x) {
  using T = Part<B>;
  const B bounded = clamp(x, is_double<B> ? 1100 : 160);
  const B n = xsimd::nearbyint(bounded);
  return scale(exp_near_zero((bounded - n) * B(T(0.693147180559945309417)), B(T(0))), n);
}

struct Wide {
  xsimd::batch<double> high, low;
};

// ln x of a positive normal x, as 2 atanh((m - 1) / (m + 1)) + e ln 2 with m from sqrt(1/2) to sqrt(2). With `exact`
// some 64 bits of it, which is what a power's exponent of up to 745 leaves 53 of.
template <bool exact, class B>
[[gnu::always_inline]] inline Wide log_of(B x) {
  using Bits = BitsOf<B>;
  constexpr std::uint64_t root = 0x3FE6A09E667F3BCD;
  const Bits moved = xsimd::bitwise_cast<Bits>(x) + Bits(0x3FF0000000000000 - root);
  const B m = xsimd::bitwise_cast<B>((moved & Bits(0x000FFFFFFFFFFFFF)) + Bits(root));
  const B e = xsimd::bitwise_cast<B>((moved >> 52) | Bits(0x4330000000000000)) - B(0x1p52 + 1023);

  const B f = m - B(1.0), g = m + B(1.0), g_low = m - (g - B(1.0));
  const B s = f / g;
  const B s2 = s * s;
  const B series = horner(s2, 2.0 / 27, 2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15, 2.0 / 13, 2.0 / 11,
                          2.0 / 9, 2.0 / 7, 2.0 / 5);
  if constexpr (!exact) {
    const B fraction = fused(series, s2, B(2.0 / 3)) * s2 * s + s * B(2.0);
    return {fused(e, B(0.693147180559945309417), fraction), B(0.0)};
  } else {
    const B s_low = (fused(-s, g, f) - s * g_low) / g;
    const B s2_low = fused(s, s, -s2) + B(2.0) * s * s_low;
    const B s3 = s2 * s, s3_low = fused(s2, s, -s3) + (s2 * s_low + s2_low * s);
    const B third(2.0 / 3), third_low(0x1.5555555555555p-55);  // 2/3 less its double
    const B cubic = s3 * third, cubic_low = fused(s3, third, -cubic) + (s3 * third_low + s3_low * third);
    const B whole = e * B(ln2_high<B>), linear = s * B(2.0);
    const B first = whole + linear, first_low = linear - (first - whole);
    const B second = first + cubic, second_low = cubic - (second - first);
    const B low =
        first_low + second_low + (fused(s_low, B(2.0), cubic_low) + fused(e, B(ln2_low<B>), series * (s2 * s3)));
    const B high = second + low;
    return {high, low - (high - second)};
  }
}

// x^y for a positive normal x and a finite y.
template <bool exact, class B>
[[gnu::always_inline]] inline B power_of(B x, B y) {
  const Wide log = log_of<exact>(x);
  const B high = y * log.high;
  B low(0.0);
  if constexpr (exact)
    low = xsimd::select(xsimd::abs(high) > B(800.0), low, fused(y, log.low, fused(y, log.high, -high)));
  return exp_bounded(clamp(high, 800), low);
}

}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
