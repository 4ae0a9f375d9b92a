#include "lowtide/kernels/strips/families.h"
#include "lowtide/kernels/strips/hypot.h"
#include "lowtide/kernels/strips/loop.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

struct Add {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_bool<T>)
      return {static_cast<std::uint8_t>(truth(a) | truth(b))};
    else if constexpr (is_complex<T>)
      return {a.re + b.re, a.im + b.im};
    else if constexpr (is_integer<T>)
      return static_cast<T>(modular(a) + modular(b));
    else
      return a + b;
  }
};

struct Subtract {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_complex<T>)
      return {a.re - b.re, a.im - b.im};
    else if constexpr (is_integer<T>)
      return static_cast<T>(modular(a) - modular(b));
    else
      return a - b;
  }
};

struct Multiply {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_bool<T>)
      return {static_cast<std::uint8_t>(truth(a) & truth(b))};
    else if constexpr (is_complex<T>)
      return {a.re * b.re + opposite(a.im * b.im), a.re * b.im + a.im * b.re};
    else if constexpr (is_integer<T>)
      return static_cast<T>(modular(a) * modular(b));
    else
      return a * b;
  }
};

template <class T>
[[gnu::always_inline]] inline T magnitude(T x) {
  if constexpr (sizeof(T) == sizeof(float))
    return __builtin_fabsf(x);
  else
    return __builtin_fabs(x);
}

struct Divide {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_complex<T>) {
      // Smith's algorithm, operation by operation NumPy's.
      if (magnitude(b.re) >= magnitude(b.im)) {
        if (b.re == 0 && b.im == 0) return {a.re / magnitude(b.re), a.im / magnitude(b.re)};
        const auto ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
        return {(a.re + a.im * ratio) * scale, (a.im + opposite(a.re * ratio)) * scale};
      }
      const auto ratio = b.re / b.im, scale = 1 / (b.im + b.re * ratio);
      return {(a.re * ratio + a.im) * scale, (a.im * ratio + opposite(a.re)) * scale};
    } else {
      return a / b;
    }
  }
};

struct Negative {
  template <class T>
  static T of(T x) {
    if constexpr (is_complex<T>)
      return {-x.re, -x.im};
    else if constexpr (is_integer<T>)
      return static_cast<T>(0 - modular(x));
    else
      return -x;
  }
};

struct Positive {
  template <class T>
  static T of(T x) {
    return x;
  }
};

struct Abs {
  template <class T>
  static auto of(T x) {
    if constexpr (is_bool<T>)
      return Bool{truth(x)};
    else if constexpr (is_complex<T>)
      return hypot(x.re, x.im);
    else if constexpr (is_real_float<T>)
      return magnitude(x);
    else
      return x < 0 ? Negative::of(x) : x;
  }
};

struct Square {
  template <class T>
  static T of(T x) {
    return Multiply::of(x, x);
  }
};

struct Sign {
  template <class T>
  static T of(T x) {
    if constexpr (is_complex<T>) {
      using Part = decltype(x.re);
      constexpr auto infinity = Part(__builtin_inf()), nan = Part(__builtin_nan(""));
      const Part size = Abs::of(x);
      if (size != size) return {nan, nan};
      // So NumPy: of finite parts whose size overflows the imaginary one decides.
      if (size == infinity) {
        const bool real = magnitude(x.re) == infinity;
        if (real && magnitude(x.im) == infinity) return {nan, nan};
        if (real) return {x.re > 0 ? Part(1) : Part(-1), 0};
        return {0, x.im > 0 ? Part(1) : Part(-1)};
      }
      if (size == 0) return {0, 0};
      return {x.re / size, x.im / size};
    } else if constexpr (is_real_float<T>) {
      const T sign = x > 0 ? T(1) : x < 0 ? T(-1) : T(0);
      return x == x ? sign : x;
    } else {
      return x > 0 ? T(1) : x < 0 ? T(-1) : T(0);
    }
  }
};

struct Reciprocal {
  template <class T>
  static T of(T x) {
    if constexpr (is_complex<T>) {
      if (magnitude(x.im) <= magnitude(x.re)) {
        const auto ratio = x.im / x.re, scale = x.re + x.im * ratio;
        return {1 / scale, -ratio / scale};
      }
      const auto ratio = x.re / x.im, scale = x.re * ratio + x.im;
      return {ratio / scale, -1 / scale};
    } else if constexpr (is_integer<T>) {
      // 1 / 0 is what x86 makes of infinity: the least int32 or int64, cut to narrower types.
      if (x == 0)
        return std::is_signed_v<T> && sizeof(T) >= 4 ? T(Modular<T>{1} << (sizeof(Modular<T>) * 8 - 1)) : T(0);
      return x == 1 ? T(1) : std::is_signed_v<T> && x == T(-1) ? T(-1) : T(0);
    } else {
      return 1 / x;
    }
  }
};

struct Sqrt {
  static float of(float x) { return __builtin_sqrtf(x); }
  static double of(double x) { return __builtin_sqrt(x); }
};

}  // namespace

StripKernel arithmetic(Op op, DType in) {
  switch (op) {
    case Op::add:
      return pick<Add, Binary, Bools, Integers, Floats, Complexes>(in);
    case Op::subtract:
      return pick<Subtract, Binary, Integers, Floats, Complexes>(in);
    case Op::multiply:
      return pick<Multiply, Binary, Bools, Integers, Floats, Complexes>(in);
    case Op::divide:
      return pick<Divide, Binary, Floats, Complexes>(in);
    case Op::negative:
      return pick<Negative, Unary, Integers, Floats, Complexes>(in);
    case Op::positive:
      return pick<Positive, Unary, Integers, Floats, Complexes>(in);
    case Op::abs:
      return pick<Abs, Unary, Bools, Integers, Floats, Complexes>(in);
    case Op::square:
      return pick<Square, Unary, Integers, Floats, Complexes>(in);
    case Op::sign:
      return pick<Sign, Unary, Integers, Floats, Complexes>(in);
    case Op::reciprocal:
      return pick<Reciprocal, Unary, Integers, Floats, Complexes>(in);
    case Op::sqrt:
      return pick<Sqrt, Unary, Floats>(in);
    default:
      return nullptr;
  }
}

}  // namespace lowtide::LOWTIDE_ARCH
