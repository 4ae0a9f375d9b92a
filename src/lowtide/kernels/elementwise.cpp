#include "lowtide/kernels/elementwise.h"

#include "lowtide/kernels/complex_functions.h"
#include "lowtide/kernels/simd.h"
#include "lowtide/kernels/strips/builds.h"

namespace lowtide {
namespace {

enum Kinds : unsigned { bools = 1, integers = 2, floats = 4, complexes = 8, numbers = 14, all = 15 };

Kinds kind_of(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return bools;
    case DType::float16:
    case DType::float32:
    case DType::float64:
      return floats;
    case DType::complex64:
    case DType::complex128:
      return complexes;
    default:
      return integers;
  }
}

// The kinds of dtype that NumPy has a loop for.
unsigned kinds_of(Op op) {
  switch (op) {
    case Op::abs:
    case Op::real:
    case Op::imag:
    case Op::logical_not:
    case Op::isnan:
    case Op::isinf:
    case Op::isfinite:
    case Op::add:
    case Op::multiply:
    case Op::maximum:
    case Op::minimum:
    case Op::fmax:
    case Op::fmin:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
    case Op::where:
      return all;
    case Op::negative:
    case Op::positive:
    case Op::sign:
    case Op::square:
    case Op::reciprocal:
    case Op::round:
    case Op::conj:
    case Op::subtract:
    case Op::pow:
      return numbers;
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
      return bools | integers | floats;
    case Op::floor_divide:
    case Op::remainder:
    case Op::fmod:
      return integers | floats;
    case Op::bitwise_invert:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
      return bools | integers;
    case Op::bitwise_count:
    case Op::bitwise_left_shift:
    case Op::bitwise_right_shift:
    case Op::gcd:
    case Op::lcm:
      return integers;
    case Op::cbrt:
    case Op::signbit:
    case Op::deg2rad:
    case Op::rad2deg:
    case Op::spacing:
    case Op::atan2:
    case Op::hypot:
    case Op::logaddexp:
    case Op::logaddexp2:
    case Op::copysign:
    case Op::nextafter:
    case Op::heaviside:
      return floats;
    default:
      return floats | complexes;
  }
}

DType part_of(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  if (dtype == DType::complex128) return DType::float64;
  return dtype;
}

}  // namespace

std::optional<DType> result_dtype(Op op, DType in) {
  if (in == DType::bfloat16 || (kinds_of(op) & kind_of(in)) == 0) return std::nullopt;
  switch (op) {
    case Op::abs:
    case Op::real:
    case Op::imag:
      return part_of(in);
    case Op::bitwise_count:
      return DType::uint8;
    case Op::logical_not:
    case Op::isnan:
    case Op::isinf:
    case Op::isfinite:
    case Op::signbit:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
    case Op::equal:
    case Op::not_equal:
    case Op::less:
    case Op::less_equal:
    case Op::greater:
    case Op::greater_equal:
      return DType::bool_;
    default:
      return in;
  }
}

StripKernel strip_kernel(Op op, DType in) { return strip_kernel(op, in, best_simd()); }

StripKernel strip_kernel(Op op, DType in, Simd simd) {
  if (const StripKernel kernel = complex_function(op, in)) return kernel;
  switch (simd) {
#ifdef LOWTIDE_VARIANTS
    case Simd::avx512:
      return avx512::find(op, in);
    case Simd::avx2:
      return avx2::find(op, in);
#endif
    default:
      return baseline::find(op, in);
  }
}

}  // namespace lowtide
