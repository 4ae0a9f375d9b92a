// sqrt(x^2 + y^2) without overflow on the way, in operations that give the same bits on every CPU and vectorise.
#pragma once

#include "lowtide/kernels/strips/arch.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

[[gnu::always_inline]] inline float hypot(float x, float y) {
  const float a = __builtin_fabsf(x), b = __builtin_fabsf(y), infinity = __builtin_inff();
  const double wide_a = a, wide_b = b;
  const auto root = static_cast<float>(__builtin_sqrt(wide_a * wide_a + wide_b * wide_b));
  return a == infinity || b == infinity ? infinity : root;
}

[[gnu::always_inline]] inline double hypot(double x, double y) {
  const double a = __builtin_fabs(x), b = __builtin_fabs(y), infinity = __builtin_inf();
  const double large = a > b ? a : b;
  const double scale = large > 0x1p500 ? 0x1p-600 : large < 0x1p-450 ? 0x1p600 : 1;
  const double back = large > 0x1p500 ? 0x1p600 : large < 0x1p-450 ? 0x1p-600 : 1;
  const double scaled_a = a * scale, scaled_b = b * scale;
  const double root = __builtin_sqrt(scaled_a * scaled_a + scaled_b * scaled_b) * back;
  return a == infinity || b == infinity ? infinity : root;
}

}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
