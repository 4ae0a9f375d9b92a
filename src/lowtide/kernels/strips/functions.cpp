// Functions of one float: xsimd's where vector_math_test.cpp finds them within bounds, with libm for the lanes beyond.
#include "lowtide/kernels/strips/batch.h"
#include "lowtide/kernels/strips/exponential.h"
#include "lowtide/kernels/strips/families.h"
#include "lowtide/kernels/strips/libm.h"
#include "lowtide/kernels/strips/loop.h"
#include "lowtide/kernels/strips/trigonometric.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

#define LOWTIDE_LIBM(function) \
  template <class T>           \
  static T libm(T x) {         \
    return libm::function(x);  \
  }
#define LOWTIDE_XSIMD(Name, function) \
  struct Name {                       \
    template <class B>                \
    static B of(B x) {                \
      return xsimd::function(x);      \
    }                                 \
    LOWTIDE_LIBM(function)            \
  };
// xsimd takes a subnormal float64 for a normal one.
#define LOWTIDE_XSIMD_NORMAL(Name, function)          \
  struct Name {                                       \
    template <class B>                                \
    static B of(B x) {                                \
      return xsimd::function(x);                      \
    }                                                 \
    template <class B>                                \
      requires is_double<B>                           \
    static auto beyond(B x) {                         \
      const B size = xsimd::abs(x);                   \
      return (size > B(0.0)) & (size < B(0x1p-1022)); \
    }                                                 \
    LOWTIDE_LIBM(function)                            \
  };
LOWTIDE_XSIMD_NORMAL(Cbrt, cbrt)
LOWTIDE_XSIMD_NORMAL(Log, log)
LOWTIDE_XSIMD_NORMAL(Log2, log2)
LOWTIDE_XSIMD_NORMAL(Log10, log10)
LOWTIDE_XSIMD(Asin, asin)
LOWTIDE_XSIMD(Acos, acos)
LOWTIDE_XSIMD(Atan, atan)
LOWTIDE_XSIMD(Sinh, sinh)
LOWTIDE_XSIMD(Cosh, cosh)
LOWTIDE_XSIMD(Tanh, tanh)
LOWTIDE_XSIMD(Atanh, atanh)

// xsimd's float64 is off by up to 10^4 units next to the multiples of pi, and its float32 depends on the neighbours.
#define LOWTIDE_TRIGONOMETRIC(Name, function, of_doubles) \
  struct Name {                                           \
    template <class B>                                    \
    static B of(B x) {                                    \
      return of_doubles(x);                               \
    }                                                     \
    template <class B>                                    \
    static auto beyond(B x) {                             \
      return !(xsimd::abs(x) <= B(reduced_limit));        \
    }                                                     \
    LOWTIDE_LIBM(function)                                \
  };
LOWTIDE_TRIGONOMETRIC(Sin, sin, sine<0>)
LOWTIDE_TRIGONOMETRIC(Cos, cos, sine<1>)
LOWTIDE_TRIGONOMETRIC(Tan, tan, tangent)
#undef LOWTIDE_TRIGONOMETRIC

struct Exp {
  template <class B>
  static B of(B x) {
    return exp_of(x);
  }
  LOWTIDE_LIBM(exp)
};

struct Exp2 {
  template <class B>
  static B of(B x) {
    return exp2_of(x);
  }
  LOWTIDE_LIBM(exp2)
};

struct Expm1 {
  template <class B>
  static B of(B x) {
    return xsimd::select(x == B(Part<B>(0)), x, xsimd::expm1(x));
  }
  // xsimd's infinity begins too early.
  template <class B>
  static auto beyond(B x) {
    return (x > B(is_double<B> ? Part<B>(709) : Part<B>(88))) & (x < B(is_double<B> ? Part<B>(710) : Part<B>(89)));
  }
  LOWTIDE_LIBM(expm1)
};

struct Log1p {
  template <class B>
  static B of(B x) {
    return xsimd::select(x == B(Part<B>(0)), x, xsimd::log1p(x));
  }
  LOWTIDE_LIBM(log1p)
};

struct Asinh {
  template <class B>
  static B of(B x) {
    if constexpr (is_double<B>) return xsimd::asinh(x);
    // xsimd's loses 3.3 units about 1/2 in float32.
    const B size = xsimd::abs(x), one(1.0f), square = size * size;
    const auto large = size > B(1e9f);
    const B near = size + square / (one + xsimd::sqrt(one + square));
    const B log = Log1p::of(xsimd::select(large, size, near));
    return xsimd::copysign(log + xsimd::select(large, B(0.693147181f), B(0.0f)), x);
  }
  LOWTIDE_LIBM(asinh)
};

struct Acosh {
  template <class B>
  static B of(B x) {
    const B nan(Part<B>(__builtin_nan("")));
    return xsimd::select(x < B(Part<B>(1)), nan, xsimd::acosh(x));
  }
  LOWTIDE_LIBM(acosh)
};
#undef LOWTIDE_XSIMD_NORMAL
#undef LOWTIDE_XSIMD
#undef LOWTIDE_LIBM

struct Batches {
  template <class F, class T>
  static void strip(const StripArgs& args) {
    in_step<T, T>(args, [](T* out, const T* x, std::size_t n) { map_batches<F>(out, n, x); });
  }
};

struct InDoubles {
  template <class F, class T>
  static void strip(const StripArgs& args) {
    in_step<T, T>(args, [](T* out, const T* x, std::size_t n) {
      if constexpr (sizeof(T) == 4)
        map_in_doubles<F>(out, n, x);
      else
        map_batches<F>(out, n, x);
    });
  }
};

template <class F>
StripKernel of_floats(DType in) {
  return pick<F, Batches, Floats>(in);
}

}  // namespace

StripKernel functions(Op op, DType in) {
  switch (op) {
    case Op::cbrt:
      return of_floats<Cbrt>(in);
    case Op::exp:
      return of_floats<Exp>(in);
    case Op::exp2:
      return of_floats<Exp2>(in);
    case Op::expm1:
      return of_floats<Expm1>(in);
    case Op::log:
      return of_floats<Log>(in);
    case Op::log2:
      return of_floats<Log2>(in);
    case Op::log10:
      return of_floats<Log10>(in);
    case Op::log1p:
      return of_floats<Log1p>(in);
    case Op::sin:
      return pick<Sin, InDoubles, Floats>(in);
    case Op::cos:
      return pick<Cos, InDoubles, Floats>(in);
    case Op::tan:
      return pick<Tan, InDoubles, Floats>(in);
    case Op::asin:
      return of_floats<Asin>(in);
    case Op::acos:
      return of_floats<Acos>(in);
    case Op::atan:
      return of_floats<Atan>(in);
    case Op::sinh:
      return of_floats<Sinh>(in);
    case Op::cosh:
      return of_floats<Cosh>(in);
    case Op::tanh:
      return of_floats<Tanh>(in);
    case Op::asinh:
      return of_floats<Asinh>(in);
    case Op::acosh:
      return of_floats<Acosh>(in);
    case Op::atanh:
      return of_floats<Atanh>(in);
    default:
      return nullptr;
  }
}

}  // namespace lowtide::LOWTIDE_ARCH
