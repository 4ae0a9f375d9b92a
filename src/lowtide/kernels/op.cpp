#include "lowtide/kernels/op.h"

#include <algorithm>
#include <array>

namespace lowtide {
namespace {

// In the order of Op.
constexpr std::array<OpFacts, op_count> all_facts = {{
    {"abs", 1},
    {"negative", 1},
    {"positive", 1},
    {"sign", 1},
    {"square", 1},
    {"sqrt", 1},
    {"cbrt", 1},
    {"reciprocal", 1},
    {"exp", 1},
    {"exp2", 1},
    {"expm1", 1},
    {"log", 1},
    {"log2", 1},
    {"log10", 1},
    {"log1p", 1},
    {"sin", 1},
    {"cos", 1},
    {"tan", 1},
    {"asin", 1},
    {"acos", 1},
    {"atan", 1},
    {"sinh", 1},
    {"cosh", 1},
    {"tanh", 1},
    {"asinh", 1},
    {"acosh", 1},
    {"atanh", 1},
    {"floor", 1},
    {"ceil", 1},
    {"trunc", 1},
    {"round", 1},
    {"conj", 1},
    {"real", 1},
    {"imag", 1},
    {"bitwise_invert", 1},
    {"bitwise_count", 1},
    {"logical_not", 1},
    {"isnan", 1},
    {"isinf", 1},
    {"isfinite", 1},
    {"signbit", 1},
    {"deg2rad", 1},
    {"rad2deg", 1},
    {"spacing", 1},
    {"add", 2},
    {"subtract", 2},
    {"multiply", 2},
    {"divide", 2},
    {"floor_divide", 2},
    {"remainder", 2},
    {"fmod", 2},
    {"pow", 2},
    {"atan2", 2},
    {"hypot", 2},
    {"logaddexp", 2},
    {"logaddexp2", 2},
    {"copysign", 2},
    {"nextafter", 2},
    {"heaviside", 2},
    {"maximum", 2},
    {"minimum", 2},
    {"fmax", 2},
    {"fmin", 2},
    {"gcd", 2},
    {"lcm", 2},
    {"bitwise_and", 2},
    {"bitwise_or", 2},
    {"bitwise_xor", 2},
    {"bitwise_left_shift", 2},
    {"bitwise_right_shift", 2},
    {"logical_and", 2},
    {"logical_or", 2},
    {"logical_xor", 2},
    {"equal", 2},
    {"not_equal", 2},
    {"less", 2},
    {"less_equal", 2},
    {"greater", 2},
    {"greater_equal", 2},
    {"where", 3},
}};

struct Alias {
  std::string_view name;
  Op op;
};
constexpr Alias aliases[] = {
    {"absolute", Op::abs},
    {"arcsin", Op::asin},
    {"arccos", Op::acos},
    {"arctan", Op::atan},
    {"arcsinh", Op::asinh},
    {"arccosh", Op::acosh},
    {"arctanh", Op::atanh},
    {"arctan2", Op::atan2},
    {"power", Op::pow},
    {"true_divide", Op::divide},
    {"mod", Op::remainder},
    {"rint", Op::round},
    {"conjugate", Op::conj},
    {"invert", Op::bitwise_invert},
    {"bitwise_not", Op::bitwise_invert},
    {"left_shift", Op::bitwise_left_shift},
    {"right_shift", Op::bitwise_right_shift},
    {"radians", Op::deg2rad},
    {"degrees", Op::rad2deg},
};

}  // namespace

const OpFacts& facts(Op op) { return all_facts[static_cast<std::size_t>(op)]; }

std::optional<Op> op_named(std::string_view name) {
  const auto* found =
      std::find_if(all_facts.begin(), all_facts.end(), [&](const OpFacts& f) { return f.name == name; });
  if (found != all_facts.end()) return static_cast<Op>(found - all_facts.begin());
  for (const Alias& alias : aliases)
    if (alias.name == name) return alias.op;
  return std::nullopt;
}

}  // namespace lowtide
