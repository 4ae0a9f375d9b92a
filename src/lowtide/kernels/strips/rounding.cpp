#include "lowtide/kernels/strips/families.h"
#include "lowtide/kernels/strips/loop.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

template <class T>
constexpr bool single = std::is_same_v<T, float>;

struct Floor {
  template <class T>
  static T of(T x) {
    if constexpr (is_bool<T>)
      return {truth(x)};
    else if constexpr (is_integer<T>)
      return x;
    else
      return single<T> ? T(__builtin_floorf(static_cast<float>(x))) : T(__builtin_floor(x));
  }
};
struct Ceil {
  template <class T>
  static T of(T x) {
    if constexpr (is_real_float<T>)
      return single<T> ? T(__builtin_ceilf(static_cast<float>(x))) : T(__builtin_ceil(x));
    else
      return Floor::of(x);
  }
};
struct Trunc {
  template <class T>
  static T of(T x) {
    if constexpr (is_real_float<T>)
      return single<T> ? T(__builtin_truncf(static_cast<float>(x))) : T(__builtin_trunc(x));
    else
      return Floor::of(x);
  }
};
struct Round {
  template <class T>
  static T of(T x) {
    if constexpr (is_complex<T>)
      return {of(x.re), of(x.im)};
    else if constexpr (is_real_float<T>)
      return single<T> ? T(__builtin_rintf(static_cast<float>(x))) : T(__builtin_rint(x));
    else
      return x;
  }
};

struct Conj {
  template <class T>
  static T of(T x) {
    if constexpr (is_complex<T>)
      return {x.re, -x.im};
    else
      return x;
  }
};
struct Real {
  template <class T>
  static auto of(T x) {
    if constexpr (is_complex<T>)
      return x.re;
    else
      return Floor::of(x);
  }
  static float of(float x) { return x; }
  static double of(double x) { return x; }
};
struct Imag {
  template <class T>
  static auto of(T x) {
    if constexpr (is_complex<T>)
      return x.im;
    else
      return T{};
  }
};

struct CopySign {
  static float of(float a, float b) { return __builtin_copysignf(a, b); }
  static double of(double a, double b) { return __builtin_copysign(a, b); }
};
struct NextAfter {
  static float of(float a, float b) { return __builtin_nextafterf(a, b); }
  static double of(double a, double b) { return __builtin_nextafter(a, b); }
};

// To the next number away from zero: negative for negative x, of infinity NaN.
struct Spacing {
  template <class T>
  static T of(T x) {
    constexpr T infinity = T(__builtin_inf());
    if (x == infinity || x == -infinity) return T(__builtin_nan(""));
    if (x == 0) return single<T> ? T(0x1p-149) : T(0x1p-1074);
    return NextAfter::of(x, x < 0 ? -infinity : infinity) - x;
  }
};

struct Heaviside {
  template <class T>
  static T of(T x, T at_zero) {
    const T step = x < 0 ? T(0) : x > 0 ? T(1) : at_zero;
    return x == x ? step : x;
  }
};

struct DegToRad {
  template <class T>
  static T of(T x) {
    return x * (T(3.14159265358979323846) / T(180));
  }
};
struct RadToDeg {
  template <class T>
  static T of(T x) {
    return x * (T(180) / T(3.14159265358979323846));
  }
};

}  // namespace

StripKernel rounding(Op op, DType in) {
  switch (op) {
    case Op::floor:
      return pick<Floor, Unary, Bools, Integers, Floats>(in);
    case Op::ceil:
      return pick<Ceil, Unary, Bools, Integers, Floats>(in);
    case Op::trunc:
      return pick<Trunc, Unary, Bools, Integers, Floats>(in);
    case Op::round:
      return pick<Round, Unary, Integers, Floats, Complexes>(in);
    case Op::conj:
      return pick<Conj, Unary, Integers, Floats, Complexes>(in);
    case Op::real:
      return pick<Real, Unary, Bools, Integers, Floats, Complexes>(in);
    case Op::imag:
      return pick<Imag, Unary, Bools, Integers, Floats, Complexes>(in);
    case Op::copysign:
      return pick<CopySign, Binary, Floats>(in);
    case Op::nextafter:
      return pick<NextAfter, Binary, Floats>(in);
    case Op::spacing:
      return pick<Spacing, Unary, Floats>(in);
    case Op::heaviside:
      return pick<Heaviside, Binary, Floats>(in);
    case Op::deg2rad:
      return pick<DegToRad, Unary, Floats>(in);
    case Op::rad2deg:
      return pick<RadToDeg, Unary, Floats>(in);
    default:
      return nullptr;
  }
}

}  // namespace lowtide::LOWTIDE_ARCH
