#include "lowtide/kernels/complex_functions.h"

#include <cmath>
#include <complex>
#include <limits>

namespace lowtide {
namespace {

template <class Z>
using Function1 = Z (*)(const Z&);

template <class Z>
Z exp2(const Z& z) {
  return std::exp(Z(z.real() * typename Z::value_type(M_LN2), z.imag() * typename Z::value_type(M_LN2)));
}
template <class Z>
Z log2(const Z& z) {
  const Z log = std::log(z);
  return {log.real() * typename Z::value_type(M_LOG2E), log.imag() * typename Z::value_type(M_LOG2E)};
}
template <class Z>
Z log10(const Z& z) {
  const Z log = std::log(z);
  return {log.real() * typename Z::value_type(M_LOG10E), log.imag() * typename Z::value_type(M_LOG10E)};
}
template <class Z>
Z expm1(const Z& z) {
  const auto half_sine = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half_sine * half_sine,
          std::exp(z.real()) * std::sin(z.imag())};
}
template <class Z>
Z log1p(const Z& z) {
  return {std::log(std::hypot(z.real() + 1, z.imag())), std::atan2(z.imag(), z.real() + 1)};
}

template <class Z>
Z times(const Z& a, const Z& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

template <class Z>
Z inverse(const Z& z) {
  using Part = typename Z::value_type;
  if (z == Z(0)) return {1 / std::abs(z.real()), std::numeric_limits<Part>::quiet_NaN()};
  if (std::abs(z.real()) >= std::abs(z.imag())) {
    const Part ratio = z.imag() / z.real(), scale = 1 / (z.real() + z.imag() * ratio);
    return {scale, (0 - ratio) * scale};
  }
  const Part ratio = z.real() / z.imag(), scale = 1 / (z.imag() + z.real() * ratio);
  return {(ratio + 0) * scale, -scale};
}

// Small whole exponents by multiplication: exact where cpow is not.
template <class Z>
Z power(const Z& base, const Z& exponent) {
  using Part = typename Z::value_type;
  constexpr Part nan = std::numeric_limits<Part>::quiet_NaN();
  if (exponent == Z(0)) return Z(1);
  if (base == Z(0)) return exponent.real() > 0 ? Z(0) : Z(nan, nan);
  if (exponent.imag() == 0 && std::abs(exponent.real()) < 100 && exponent.real() == std::trunc(exponent.real())) {
    const int n = static_cast<int>(exponent.real());
    if (n == 1) return base;
    if (n == 2) return times(base, base);
    if (n == 3) return times(base, times(base, base));
    Z result(1), square = base;
    for (int left = n < 0 ? -n : n; left != 0; left >>= 1) {
      if (left & 1) result = times(result, square);
      square = times(square, square);
    }
    return n < 0 ? inverse(result) : result;
  }
  return std::pow(base, exponent);
}

template <class Z, Function1<Z> function>
void unary(const StripArgs& args) {
  const auto* x = reinterpret_cast<const Z*>(args.in[0]);
  auto* out = reinterpret_cast<Z*>(args.out);
  const std::size_t step = args.scalars & 1 ? 0 : 1;
  for (std::size_t i = 0; i < args.count; ++i) out[i] = function(x[i * step]);
}

template <class Z>
void pow_strip(const StripArgs& args) {
  const auto *x = reinterpret_cast<const Z*>(args.in[0]), *y = reinterpret_cast<const Z*>(args.in[1]);
  auto* out = reinterpret_cast<Z*>(args.out);
  const std::size_t x_step = args.scalars & 1 ? 0 : 1, y_step = args.scalars & 2 ? 0 : 1;
  for (std::size_t i = 0; i < args.count; ++i) out[i] = power(x[i * x_step], y[i * y_step]);
}

template <class Z>
StripKernel function_of(Op op) {
  switch (op) {
    case Op::sqrt:
      return unary<Z, std::sqrt>;
    case Op::exp:
      return unary<Z, std::exp>;
    case Op::exp2:
      return unary<Z, exp2<Z>>;
    case Op::expm1:
      return unary<Z, expm1<Z>>;
    case Op::log:
      return unary<Z, std::log>;
    case Op::log2:
      return unary<Z, log2<Z>>;
    case Op::log10:
      return unary<Z, log10<Z>>;
    case Op::log1p:
      return unary<Z, log1p<Z>>;
    case Op::sin:
      return unary<Z, std::sin>;
    case Op::cos:
      return unary<Z, std::cos>;
    case Op::tan:
      return unary<Z, std::tan>;
    case Op::asin:
      return unary<Z, std::asin>;
    case Op::acos:
      return unary<Z, std::acos>;
    case Op::atan:
      return unary<Z, std::atan>;
    case Op::sinh:
      return unary<Z, std::sinh>;
    case Op::cosh:
      return unary<Z, std::cosh>;
    case Op::tanh:
      return unary<Z, std::tanh>;
    case Op::asinh:
      return unary<Z, std::asinh>;
    case Op::acosh:
      return unary<Z, std::acosh>;
    case Op::atanh:
      return unary<Z, std::atanh>;
    case Op::pow:
      return pow_strip<Z>;
    default:
      return nullptr;
  }
}

}  // namespace

StripKernel complex_function(Op op, DType in) {
  if (in == DType::complex64) return function_of<std::complex<float>>(op);
  if (in == DType::complex128) return function_of<std::complex<double>>(op);
  return nullptr;
}

}  // namespace lowtide
