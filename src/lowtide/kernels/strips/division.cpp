// Division of floats with a whole quotient, operation by operation NumPy's npy_divmod.
#include "lowtide/kernels/strips/families.h"
#include "lowtide/kernels/strips/loop.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

float rest(float a, float b) { return __builtin_fmodf(a, b); }
double rest(double a, double b) { return __builtin_fmod(a, b); }
float whole(float x) { return __builtin_floorf(x); }
double whole(double x) { return __builtin_floor(x); }
float signed_zero(float like) { return __builtin_copysignf(0, like); }
double signed_zero(double like) { return __builtin_copysign(0, like); }

struct FloorDivide {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return a / b;
    const T mod = rest(a, b);
    T quotient = (a - mod) / b;
    if (mod != 0 && (b < 0) != (mod < 0)) quotient -= 1;
    if (quotient == 0) return signed_zero(a / b);
    const T floored = whole(quotient);
    return quotient - floored > T(0.5) ? floored + 1 : floored;
  }
};

struct Remainder {
  template <class T>
  static T of(T a, T b) {
    const T mod = rest(a, b);
    if (b == 0) return mod;
    if (mod == 0) return signed_zero(b);
    return (b < 0) != (mod < 0) ? mod + b : mod;
  }
};

struct Fmod {
  template <class T>
  static T of(T a, T b) {
    return rest(a, b);
  }
};

}  // namespace

StripKernel division(Op op, DType in) {
  switch (op) {
    case Op::floor_divide:
      return pick<FloorDivide, Binary, Floats>(in);
    case Op::remainder:
      return pick<Remainder, Binary, Floats>(in);
    case Op::fmod:
      return pick<Fmod, Binary, Floats>(in);
    default:
      return nullptr;
  }
}

}  // namespace lowtide::LOWTIDE_ARCH
