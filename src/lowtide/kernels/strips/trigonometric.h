// sin, cos and tan of float64 batches up to 10^6 in size, with what rounding loses of the reduced argument.
#pragma once

#include "lowtide/kernels/strips/exponential.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

constexpr double reduced_limit = 1e6;

template <class B>
struct Reduced {
  B r, low;    // x - n pi/2, to twice the precision
  B quadrant;  // n, of which the last two bits count
};

// pi/2 in parts of 33 bits, whose products with n are exact. The multiples of pi/2 nearest to a float64 of this size
// leave some 2^-55; 152 bits of pi/2 keep 53 bits even of that.
template <class B>
[[gnu::always_inline]] inline Reduced<B> reduce(B x) {
  const B n = xsimd::nearbyint(x * B(0.636619772367581343076));
  const B first = x - n * B(0x1.921fb544p+0);
  const B part2 = n * B(0x1.0b4611a6p-34), second = first - part2;
  const B back2 = second - first, lost2 = (first - (second - back2)) - (part2 + back2);
  const B part3 = n * B(0x1.3198a2e0p-69), third = second - part3;
  const B back3 = third - second, lost3 = (second - (third - back3)) - (part3 + back3);
  const B low = lost2 + (lost3 - n * B(0x1.b839a252049c1p-104));
  const B r = third + low;
  return {r, low - (r - third), n};
}

// The polynomials are fdlibm's, for |r| up to pi/4.
template <class B>
[[gnu::always_inline]] inline B sine_near_zero(B r, B low) {
  const B z = r * r, cube = z * r;
  const B series = horner(z, 1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
                          -1.98412698298579493134e-04, 8.33333333332248946124e-03);
  const B correction = z * (low * B(0.5) - cube * series) - low;
  return r - (correction - cube * B(-1.66666666666666324348e-01));
}

template <class B>
[[gnu::always_inline]] inline B cosine_near_zero(B r, B low) {
  const B z = r * r, one(1.0), half = z * B(0.5), rough = one - half;
  const B series = horner(z, -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
                          2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02);
  return rough + (((one - rough) - half) + (z * (z * series) - r * low));
}

template <class B>
[[gnu::always_inline]] inline auto is_odd(B n) {
  const B half = n * B(0.5);
  return xsimd::floor(half) != half;
}

// sin(x + turns pi/2)
template <int turns, class B>
[[gnu::always_inline]] inline B sine(B x) {
  const Reduced<B> reduced = reduce(x);
  const B n = reduced.quadrant + B(double{turns});
  const B size =
      xsimd::select(is_odd(n), cosine_near_zero(reduced.r, reduced.low), sine_near_zero(reduced.r, reduced.low));
  const auto negative = is_odd(xsimd::floor(n * B(0.5)));
  const B result = xsimd::bitwise_cast<B>(xsimd::bitwise_cast<BitsOf<B>>(size) ^
                                          xsimd::bitwise_cast<BitsOf<B>>(xsimd::select(negative, B(-0.0), B(0.0))));
  return turns == 0 ? xsimd::select(x == B(0.0), x, result) : result;
}

template <class B>
[[gnu::always_inline]] inline B tangent(B x) {
  const Reduced<B> reduced = reduce(x);
  const B s = sine_near_zero(reduced.r, reduced.low), c = cosine_near_zero(reduced.r, reduced.low);
  const auto odd = is_odd(reduced.quadrant);
  return xsimd::select(x == B(0.0), x, xsimd::select(odd, c, s) / xsimd::select(odd, B(0.0) - s, c));
}

}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
