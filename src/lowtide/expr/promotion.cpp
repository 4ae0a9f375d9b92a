#include "lowtide/expr/promotion.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "lowtide/error.h"
#include "lowtide/kernels/cast.h"
#include "lowtide/kernels/elementwise.h"

namespace lowtide {
namespace {

DType signed_of(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return DType::int8;
    case 2:
      return DType::int16;
    case 4:
      return DType::int32;
    default:
      return DType::int64;
  }
}

// The narrowest float that holds every value of an integer of so many bytes, as NumPy sees it.
DType float_for_integer(DType dtype) {
  switch (itemsize(dtype)) {
    case 1:
      return DType::float16;
    case 2:
      return DType::float32;
    default:
      return DType::float64;
  }
}

DType promote_integers(DType a, DType b) {
  if (is_unsigned(a) == is_unsigned(b)) return itemsize(a) >= itemsize(b) ? a : b;
  const DType with_sign = is_unsigned(a) ? b : a;
  const DType without = is_unsigned(a) ? a : b;
  if (itemsize(with_sign) > itemsize(without)) return with_sign;
  if (itemsize(without) == 8) return DType::float64;
  return signed_of(2 * itemsize(without));
}

DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  if (itemsize(a) == itemsize(b)) return DType::float32;  // float16 and bfloat16: neither holds the other
  return itemsize(a) > itemsize(b) ? a : b;
}

[[noreturn]] void refuse(Op op, DType dtype) {
  throw TypeError(fmt::format("{} is not defined for {}", facts(op).name, name(dtype)));
}

}  // namespace

bool is_integer(DType dtype) { return dtype >= DType::int8 && dtype <= DType::uint64; }
bool is_unsigned(DType dtype) { return dtype >= DType::uint8 && dtype <= DType::uint64; }
bool is_floating(DType dtype) { return dtype >= DType::float16 && dtype <= DType::float64; }
bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }

DType real_dtype(DType dtype) {
  if (dtype == DType::complex64) return DType::float32;
  if (dtype == DType::complex128) return DType::float64;
  return dtype;
}

DType complex_dtype(DType dtype) {
  if (is_complex(dtype)) return dtype;
  const bool narrow = is_floating(dtype) ? dtype != DType::float64 : is_integer(dtype) && itemsize(dtype) <= 2;
  return narrow || dtype == DType::bool_ ? DType::complex64 : DType::complex128;
}

DType promote(DType a, DType b) {
  if (a == b || b == DType::bool_) return a;
  if (a == DType::bool_) return b;
  if (is_complex(a) || is_complex(b)) {
    const DType x = complex_dtype(a), y = complex_dtype(b);
    return x == DType::complex128 ? x : y;
  }
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  if (is_integer(a)) return promote_floats(float_for_integer(a), b);
  if (is_integer(b)) return promote_floats(a, float_for_integer(b));
  return promote_floats(a, b);
}

DType default_dtype(const Scalar& scalar) {
  switch (scalar.kind) {
    case Scalar::Kind::boolean:
      return DType::bool_;
    case Scalar::Kind::integer:
      return !scalar.negative && scalar.magnitude > std::uint64_t{std::numeric_limits<std::int64_t>::max()}
                 ? DType::uint64
                 : DType::int64;
    case Scalar::Kind::real:
      return DType::float64;
    case Scalar::Kind::complex:
      return DType::complex128;
  }
  return DType::float64;
}

DType promote(DType array, const Scalar& scalar) {
  switch (scalar.kind) {
    case Scalar::Kind::boolean:
      return array;
    case Scalar::Kind::integer:
      return array == DType::bool_ ? default_dtype(scalar) : array;
    case Scalar::Kind::real:
      return is_floating(array) || is_complex(array) ? array : DType::float64;
    case Scalar::Kind::complex:
      return is_complex(array) ? array : is_floating(array) ? complex_dtype(array) : DType::complex128;
  }
  return array;
}

bool fits(const Scalar& scalar, DType dtype) {
  if (scalar.kind != Scalar::Kind::integer || !is_integer(dtype)) return true;
  const std::uint64_t most = is_unsigned(dtype) ? ~std::uint64_t{0} >> (64 - 8 * itemsize(dtype))
                                                : ~std::uint64_t{0} >> (65 - 8 * itemsize(dtype));
  if (!scalar.negative) return scalar.magnitude <= most;
  return !is_unsigned(dtype) && scalar.magnitude <= most + 1;
}

std::array<std::byte, 16> element(const Scalar& scalar, DType dtype) {
  if (!fits(scalar, dtype)) {
    throw std::overflow_error(fmt::format("Python integer {}{} out of bounds for {}", scalar.negative ? "-" : "",
                                          scalar.magnitude, name(dtype)));
  }
  std::array<std::byte, 16> bytes{};
  switch (scalar.kind) {
    case Scalar::Kind::boolean:
    case Scalar::Kind::integer: {
      const std::uint64_t wrapped = scalar.negative ? 0 - scalar.magnitude : scalar.magnitude;
      const DType from = scalar.negative ? DType::int64 : DType::uint64;
      cast(reinterpret_cast<const std::byte*>(&wrapped), from, bytes.data(), dtype, 1);
      break;
    }
    case Scalar::Kind::real:
      cast(reinterpret_cast<const std::byte*>(&scalar.re), DType::float64, bytes.data(), dtype, 1);
      break;
    case Scalar::Kind::complex: {
      const double parts[2] = {scalar.re, scalar.im};
      cast(reinterpret_cast<const std::byte*>(parts), DType::complex128, bytes.data(), dtype, 1);
      break;
    }
  }
  return bytes;
}

DType operands_dtype(Op op, DType promoted) {
  if (promoted == DType::bfloat16) {
    throw UnsupportedError("bfloat16 is for storing: cast it first, astype(x, lt.float32)");
  }
  // NumPy divides integers, however narrow, in float64.
  if (op == Op::divide && (promoted == DType::bool_ || is_integer(promoted))) return DType::float64;
  if (result_dtype(op, promoted)) return promoted;
  if (promoted == DType::bool_) {
    const bool refused = op == Op::subtract || op == Op::negative || op == Op::positive || op == Op::sign ||
                         op == Op::gcd || op == Op::lcm;
    if (refused) refuse(op, promoted);
    if (result_dtype(op, DType::int8)) return DType::int8;
    if (result_dtype(op, DType::float16)) return DType::float16;
  }
  if (is_integer(promoted)) {
    const DType wide = float_for_integer(promoted);
    if (result_dtype(op, wide)) return wide;
  }
  refuse(op, promoted);
}

}  // namespace lowtide
