// libm's functions by name, for float and double alike.
#pragma once

#include "lowtide/kernels/strips/arch.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {
namespace libm {

#define LOWTIDE_LIBM_1(function)                                                         \
  [[maybe_unused]] inline float function(float x) { return __builtin_##function##f(x); } \
  [[maybe_unused]] inline double function(double x) { return __builtin_##function(x); }
#define LOWTIDE_LIBM_2(function)                                                                     \
  [[maybe_unused]] inline float function(float x, float y) { return __builtin_##function##f(x, y); } \
  [[maybe_unused]] inline double function(double x, double y) { return __builtin_##function(x, y); }
LOWTIDE_LIBM_1(cbrt)
LOWTIDE_LIBM_1(exp)
LOWTIDE_LIBM_1(exp2)
LOWTIDE_LIBM_1(expm1)
LOWTIDE_LIBM_1(log)
LOWTIDE_LIBM_1(log2)
LOWTIDE_LIBM_1(log10)
LOWTIDE_LIBM_1(log1p)
LOWTIDE_LIBM_1(sin)
LOWTIDE_LIBM_1(cos)
LOWTIDE_LIBM_1(tan)
LOWTIDE_LIBM_1(asin)
LOWTIDE_LIBM_1(acos)
LOWTIDE_LIBM_1(atan)
LOWTIDE_LIBM_1(sinh)
LOWTIDE_LIBM_1(cosh)
LOWTIDE_LIBM_1(tanh)
LOWTIDE_LIBM_1(asinh)
LOWTIDE_LIBM_1(acosh)
LOWTIDE_LIBM_1(atanh)
LOWTIDE_LIBM_2(pow)
LOWTIDE_LIBM_2(atan2)
#undef LOWTIDE_LIBM_1
#undef LOWTIDE_LIBM_2

}  // namespace libm
}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
