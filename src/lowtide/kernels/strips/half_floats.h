// Runs of float16 to float32 and back, with the conversion instructions where the CPU has them.
#pragma once

#ifdef __F16C__
#include <immintrin.h>
#else
#include "lowtide/kernels/half.h"
#endif

#include <cstddef>
#include <cstdint>

#include "lowtide/kernels/strips/arch.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

#ifdef __F16C__

inline void widen_halves(const std::uint16_t* halves, float* out, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m128i eight;
    __builtin_memcpy(&eight, halves + i, sizeof eight);
    const __m256 wide = _mm256_cvtph_ps(eight);
    __builtin_memcpy(out + i, &wide, sizeof wide);
  }
  for (; i < count; ++i) out[i] = _cvtsh_ss(halves[i]);
}

inline void narrow_floats(const float* floats, std::uint16_t* out, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 wide;
    __builtin_memcpy(&wide, floats + i, sizeof wide);
    const __m128i eight = _mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT);
    __builtin_memcpy(out + i, &eight, sizeof eight);
  }
  for (; i < count; ++i) out[i] = _cvtss_sh(floats[i], _MM_FROUND_TO_NEAREST_INT);
}

#else

inline void widen_halves(const std::uint16_t* halves, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = to_float(Float16{halves[i]});
}

inline void narrow_floats(const float* floats, std::uint16_t* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = to_float16(floats[i]).bits;
}

#endif

}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
