#include "lowtide/kernels/simd.h"

#include <cstdlib>
#include <string_view>

namespace lowtide {
namespace {

Simd widest() {
  if (simd_runs(Simd::avx512)) return Simd::avx512;
  return simd_runs(Simd::avx2) ? Simd::avx2 : Simd::baseline;
}

Simd chosen() {
  const char* asked = std::getenv("LOWTIDE_SIMD");
  const std::string_view name = asked == nullptr ? "" : asked;
  if (name == "baseline") return Simd::baseline;
  if (name == "avx2" && simd_runs(Simd::avx2)) return Simd::avx2;
  return widest();
}

}  // namespace

bool simd_runs(Simd simd) {
#ifdef LOWTIDE_VARIANTS
  // All that -march=x86-64-v3 and -v4 may use.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe");
  if (simd == Simd::avx2) return avx2;
  if (simd == Simd::avx512)
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#endif
  return simd == Simd::baseline;
}

Simd best_simd() {
  static const Simd simd = chosen();
  return simd;
}

}  // namespace lowtide
