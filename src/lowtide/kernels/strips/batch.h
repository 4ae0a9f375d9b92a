// Loops over xsimd batches for functions of float32 and float64.
//
//   struct Log {
//     template <class B> static B of(B x);                // a batch at a time
//     template <class T> static T libm(T x);              // one by one
//     template <class B> static auto beyond(B x);         // optional: the lanes that are libm's
//   };
//   map_batches<Log>(out, x, count);
//
// An element's result does not depend on its place in the strip. float64 takes libm throughout where there is no fused
// multiply-add: without it reductions by pi lose digits, and two lanes a register gain nothing over libm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/kernels/strips/arch.h"

// Each build has an xsimd of its own: the linker must not merge what was compiled for different instruction sets.
#define LOWTIDE_JOIN_TOKENS(a, b) a##b
#define LOWTIDE_JOIN(a, b) LOWTIDE_JOIN_TOKENS(a, b)
#define xsimd LOWTIDE_JOIN(xsimd_, LOWTIDE_ARCH)
#include <xsimd/xsimd.hpp>

namespace lowtide::LOWTIDE_ARCH {
namespace {

#if defined(__FMA__) || defined(__aarch64__)
constexpr bool has_fma = true;
#else
constexpr bool has_fma = false;
#endif
#ifdef XSIMD_NO_SUPPORTED_ARCHITECTURE
template <class T>
constexpr bool in_batches = false;
#else
template <class T>
constexpr bool in_batches = sizeof(T) == 4 || has_fma;
#endif

// x * y + z, rounded once if has_fma: xsimd 8's fma rounds twice in AVX-512.
#ifdef __AVX512F__
[[gnu::always_inline]] inline xsimd::batch<float> fused(xsimd::batch<float> x, xsimd::batch<float> y,
                                                        xsimd::batch<float> z) {
  return _mm512_fmadd_ps(x, y, z);
}
[[gnu::always_inline]] inline xsimd::batch<double> fused(xsimd::batch<double> x, xsimd::batch<double> y,
                                                         xsimd::batch<double> z) {
  return _mm512_fmadd_pd(x, y, z);
}
#else
template <class B>
[[gnu::always_inline]] inline B fused(B x, B y, B z) {
  return xsimd::fma(x, y, z);
}
#endif

// Lanes for which `beyond` is not 0 are computed again.
template <class F, class B, class T, class... More>
[[gnu::noinline]] void repair(T* out, B beyond, B x, More... more) {
  alignas(64) T values[1 + sizeof...(More)][B::size], lanes[B::size];
  beyond.store_aligned(lanes);
  x.store_aligned(values[0]);
  [[maybe_unused]] std::size_t k = 1;
  (more.store_aligned(values[k++]), ...);
  for (std::size_t i = 0; i < B::size; ++i) {
    if (lanes[i] == 0) continue;
    if constexpr (sizeof...(More) == 0)
      out[i] = F::libm(values[0][i]);
    else
      out[i] = F::libm(values[0][i], values[1][i]);
  }
}

template <class F, class T, class... B>
[[gnu::always_inline]] inline void map_batch(T* out, B... x) {
  F::of(x...).store_unaligned(out);
  if constexpr (requires { F::beyond(x...); }) {
    const auto beyond = F::beyond(x...);
    if (xsimd::any(beyond)) [[unlikely]] {
      using Batch = xsimd::batch<T>;
      repair<F>(out, xsimd::select(beyond, Batch(T(1)), Batch(T(0))), x...);
    }
  }
}

// The rest of a strip, filled up with copies of its last element.
template <class B, class T>
[[gnu::always_inline]] inline B load_rest(const T* x, std::size_t count) {
  alignas(64) T rest[B::size];
  for (std::size_t i = 0; i < B::size; ++i) rest[i] = x[i < count ? i : count - 1];
  return B::load_aligned(rest);
}

template <class F, class T, class... In>
[[gnu::noinline]] void map_batches(T* out, std::size_t count, const In*... x) {
  if constexpr (in_batches<T>) {
    using B = xsimd::batch<T>;
    std::size_t i = 0;
    for (; i + B::size <= count; i += B::size) map_batch<F>(out + i, B::load_unaligned(x + i)...);
    if (i == count) return;
    T rest[B::size];
    map_batch<F>(rest, load_rest<B>(x + i, count - i)...);
    for (std::size_t k = 0; i + k < count; ++k) out[i + k] = rest[k];
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = F::libm(x[i]...);
  }
}

// float32 in float64: half the lanes, twice the digits. libm's float32 where float64 is libm's too.
template <class F, class... In>
[[gnu::noinline]] void map_in_doubles(float* out, std::size_t count, const In*... x) {
  if constexpr (in_batches<double>) {
    constexpr std::size_t piece = 256;
    alignas(64) double wide[sizeof...(In)][piece];
    for (std::size_t i = 0; i < count; i += piece) {
      const std::size_t n = count - i < piece ? count - i : piece;
      std::size_t input = 0;
      const auto widen = [&](const float* from) -> const double* {
        double* to = wide[input++];
        for (std::size_t k = 0; k < n; ++k) to[k] = static_cast<double>(from[k]);
        return to;
      };
      const double* inputs[] = {widen(x + i)...};
      if constexpr (sizeof...(In) == 1)
        map_batches<F>(wide[0], n, inputs[0]);
      else
        map_batches<F>(wide[0], n, inputs[0], inputs[1]);
      for (std::size_t k = 0; k < n; ++k) out[i + k] = static_cast<float>(wide[0][k]);
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = F::libm(x[i]...);
  }
}

}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
