#include "lowtide/kernels/strips/families.h"
#include "lowtide/kernels/strips/loop.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

// Of which `test` is true for a float, for either part, or, for all_parts, for both parts of a complex number.
template <class T>
bool infinite(T x) {
  return x == T(__builtin_inf()) || x == T(-__builtin_inf());
}
template <class T>
bool finite(T x) {
  return x - x == 0;
}

struct And {
  template <class T>
  static Bool of(T a, T b) {
    return {static_cast<std::uint8_t>(truth(a) & truth(b))};
  }
};
struct Or {
  template <class T>
  static Bool of(T a, T b) {
    return {static_cast<std::uint8_t>(truth(a) | truth(b))};
  }
};
struct Xor {
  template <class T>
  static Bool of(T a, T b) {
    return {static_cast<std::uint8_t>(truth(a) ^ truth(b))};
  }
};
struct Not {
  template <class T>
  static Bool of(T x) {
    return {!truth(x)};
  }
};

struct IsNan {
  template <class T>
  static Bool of(T x) {
    return {is_nan(x)};
  }
};
struct IsInf {
  template <class T>
  static Bool of(T x) {
    if constexpr (is_complex<T>)
      return {static_cast<std::uint8_t>(infinite(x.re) | infinite(x.im))};
    else if constexpr (is_real_float<T>)
      return {infinite(x)};
    else
      return {0};
  }
};
struct IsFinite {
  template <class T>
  static Bool of(T x) {
    if constexpr (is_complex<T>)
      return {static_cast<std::uint8_t>(finite(x.re) & finite(x.im))};
    else if constexpr (is_real_float<T>)
      return {finite(x)};
    else
      return {1};
  }
};
struct SignBit {
  static Bool of(float x) { return {static_cast<std::uint8_t>(__builtin_bit_cast(std::uint32_t, x) >> 31)}; }
  static Bool of(double x) { return {static_cast<std::uint8_t>(__builtin_bit_cast(std::uint64_t, x) >> 63)}; }
};

template <class F, class Arity>
StripKernel any_dtype(DType in) {
  return pick<F, Arity, Bools, Integers, Floats, Complexes>(in);
}

}  // namespace

StripKernel predicates(Op op, DType in) {
  switch (op) {
    case Op::logical_and:
      return any_dtype<And, Binary>(in);
    case Op::logical_or:
      return any_dtype<Or, Binary>(in);
    case Op::logical_xor:
      return any_dtype<Xor, Binary>(in);
    case Op::logical_not:
      return any_dtype<Not, Unary>(in);
    case Op::isnan:
      return any_dtype<IsNan, Unary>(in);
    case Op::isinf:
      return any_dtype<IsInf, Unary>(in);
    case Op::isfinite:
      return any_dtype<IsFinite, Unary>(in);
    case Op::signbit:
      return pick<SignBit, Unary, Floats>(in);
    default:
      return nullptr;
  }
}

}  // namespace lowtide::LOWTIDE_ARCH
