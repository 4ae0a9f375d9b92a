// float16: computed by the float32 kernel on a piece of stack, and rounded once; what concerns the bits stays in them.
#include "lowtide/kernels/strips/families.h"
#include "lowtide/kernels/strips/half_floats.h"
#include "lowtide/kernels/strips/loop.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

using Half = std::uint16_t;
constexpr Half infinity = 0x7C00, sign_bit = 0x8000, quiet_nan = 0x7E00;

bool is_nan_half(Half h) { return (h & 0x7FFF) > infinity; }

struct Copy {
  static Half of(Half h) { return h; }
};
struct Abs {
  static Half of(Half h) { return h & 0x7FFF; }
};
struct Negative {
  static Half of(Half h) { return h ^ sign_bit; }
};
struct Zero {
  static Half of(Half) { return 0; }
};
struct CopySign {
  static Half of(Half a, Half b) { return static_cast<Half>((a & 0x7FFF) | (b & sign_bit)); }
};

struct NextAfter {
  static Half of(Half a, Half b) {
    if (is_nan_half(a) || is_nan_half(b)) return quiet_nan;
    if (a == b || ((a | b) & 0x7FFF) == 0) return a;
    if ((a & 0x7FFF) == 0) return static_cast<Half>((b & sign_bit) | 1);
    const int x = a & sign_bit ? -(a & 0x7FFF) : a & 0x7FFF, y = b & sign_bit ? -(b & 0x7FFF) : b & 0x7FFF;
    const bool away = a & sign_bit ? y < x : y > x;
    return static_cast<Half>(away ? a + 1 : a - 1);
  }
};

// NumPy's: positive, and of a negative power of two the distance towards zero.
struct Spacing {
  static Half of(Half h) {
    const int exponent = h & infinity, mantissa = h & 0x3FF;
    if (exponent == infinity) return quiet_nan;
    if (h == 0x7BFF) return infinity;
    const int finer = h & sign_bit && mantissa == 0 ? 1 : 0;
    if (exponent > 0x2800 + (finer << 10)) return static_cast<Half>(exponent - 0x2800 - (finer << 10));
    if (exponent > 0x0400) return static_cast<Half>(1 << ((exponent >> 10) - 1 - finer));
    return 1;
  }
};

constexpr std::size_t piece = 512;

template <Op op>
void through_float(const StripArgs& args) {
  static const StripKernel kernel = find(op, DType::float32);
  constexpr bool unary = op < Op::add;
  constexpr bool to_bool =
      (op >= Op::logical_and && op <= Op::greater_equal) || (op >= Op::logical_not && op <= Op::signbit);
  constexpr int arity = unary ? 1 : 2;
  alignas(64) float wide[3][piece];
  StripArgs part{reinterpret_cast<std::byte*>(wide[2]), {}, 0, args.scalars};
  for (int k = 0; k < arity; ++k) {
    part.in[k] = reinterpret_cast<const std::byte*>(wide[k]);
    if ((args.scalars >> k & 1) != 0 && args.count != 0) widen_halves(elements<Half>(args.in[k]), wide[k], 1);
  }
  for (std::size_t i = 0; i < args.count; i += piece) {
    part.count = args.count - i < piece ? args.count - i : piece;
    for (int k = 0; k < arity; ++k)
      if ((args.scalars >> k & 1) == 0) widen_halves(elements<Half>(args.in[k]) + i, wide[k], part.count);
    if constexpr (to_bool) part.out = args.out + i;
    kernel(part);
    if constexpr (!to_bool) narrow_floats(wide[2], elements<Half>(args.out) + i, part.count);
  }
}

// Of equal operands NumPy returns the first for float16, the second for wider floats.
template <Op op>
void through_float_swapped(const StripArgs& args) {
  const unsigned scalars = args.scalars;
  through_float<op>({args.out,
                     {args.in[1], args.in[0]},
                     args.count,
                     static_cast<std::uint8_t>((scalars & 1) << 1 | (scalars >> 1 & 1))});
}

template <Op... ops>
StripKernel first_of(Op op) {
  StripKernel kernel = nullptr;
  ((op == ops ? void(kernel = &through_float<ops>) : void()), ...);
  return kernel;
}

template <class F>
void unary(const StripArgs& args) {
  Unary::strip<F, Half>(args);
}
template <class F>
void binary(const StripArgs& args) {
  Binary::strip<F, Half>(args);
}

}  // namespace

StripKernel halves(Op op, DType in) {
  if (in != DType::float16) return nullptr;
  switch (op) {
    case Op::positive:
    case Op::conj:
    case Op::real:
      return unary<Copy>;
    case Op::abs:
      return unary<Abs>;
    case Op::negative:
      return unary<Negative>;
    case Op::imag:
      return unary<Zero>;
    case Op::copysign:
      return binary<CopySign>;
    case Op::nextafter:
      return binary<NextAfter>;
    case Op::spacing:
      return unary<Spacing>;
    case Op::where:
      return selection(op, in);
    case Op::maximum:
      return through_float_swapped<Op::maximum>;
    case Op::minimum:
      return through_float_swapped<Op::minimum>;
    case Op::fmax:
      return through_float_swapped<Op::fmax>;
    case Op::fmin:
      return through_float_swapped<Op::fmin>;
    default:
      return first_of<Op::sign, Op::square, Op::sqrt, Op::cbrt, Op::reciprocal, Op::exp, Op::exp2, Op::expm1, Op::log,
                      Op::log2, Op::log10, Op::log1p, Op::sin, Op::cos, Op::tan, Op::asin, Op::acos, Op::atan, Op::sinh,
                      Op::cosh, Op::tanh, Op::asinh, Op::acosh, Op::atanh, Op::floor, Op::ceil, Op::trunc, Op::round,
                      Op::logical_not, Op::isnan, Op::isinf, Op::isfinite, Op::signbit, Op::deg2rad, Op::rad2deg,
                      Op::add, Op::subtract, Op::multiply, Op::divide, Op::floor_divide, Op::remainder, Op::fmod,
                      Op::pow, Op::atan2, Op::hypot, Op::logaddexp, Op::logaddexp2, Op::heaviside, Op::maximum,
                      Op::minimum, Op::fmax, Op::fmin, Op::logical_and, Op::logical_or, Op::logical_xor, Op::equal,
                      Op::not_equal, Op::less, Op::less_equal, Op::greater, Op::greater_equal>(op);
  }
}

}  // namespace lowtide::LOWTIDE_ARCH
