// Every elementwise operator, by its array API or NumPy name.
//
//   Op op = *op_named("power");               // Op::pow: NumPy's aliases are known
//   facts(op).name == "pow"; facts(op).arity == 2;
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lowtide {

enum class Op : std::uint8_t {
  // unary
  abs,
  negative,
  positive,
  sign,
  square,
  sqrt,
  cbrt,
  reciprocal,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  floor,
  ceil,
  trunc,
  round,
  conj,
  real,
  imag,
  bitwise_invert,
  bitwise_count,
  logical_not,
  isnan,
  isinf,
  isfinite,
  signbit,
  deg2rad,
  rad2deg,
  spacing,
  // binary
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  remainder,
  fmod,
  pow,
  atan2,
  hypot,
  logaddexp,
  logaddexp2,
  copysign,
  nextafter,
  heaviside,
  maximum,
  minimum,
  fmax,
  fmin,
  gcd,
  lcm,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  bitwise_left_shift,
  bitwise_right_shift,
  logical_and,
  logical_or,
  logical_xor,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  // ternary: bool condition, then two of one dtype
  where,
};

inline constexpr std::size_t op_count = static_cast<std::size_t>(Op::where) + 1;

struct OpFacts {
  std::string_view name;
  int arity;
};

const OpFacts& facts(Op op);
// Array API names, NumPy's aliases of them ("arcsin", "true_divide", "mod", "left_shift", …); nullopt for anything else.
std::optional<Op> op_named(std::string_view name);

}  // namespace lowtide
