// Which dtype an operation computes in: NumPy 2's rules, and with them the array API's.
//
//   promote(DType::int8, DType::uint8) == DType::int16
//   promote(DType::float32, Scalar(2.5)) == DType::float32            // a Python number is weak
//   operands_dtype(Op::sqrt, DType::int16) == DType::float32           // what inputs are cast to
//
// Thread-safe: pure functions. Throws TypeError where NumPy has no such operation, std::invalid_argument for a number that does not fit.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>

#include "lowtide/dtype.h"
#include "lowtide/kernels/op.h"
#include "lowtide/scalar.h"

namespace lowtide {

bool is_integer(DType dtype);  // signed or not; bool is none
bool is_unsigned(DType dtype);
bool is_floating(DType dtype);  // real
bool is_complex(DType dtype);
DType real_dtype(DType dtype);     // of a complex one; itself otherwise
DType complex_dtype(DType dtype);  // that holds a real one

DType promote(DType a, DType b);
DType promote(DType array, const Scalar& scalar);
DType default_dtype(const Scalar& scalar);  // int64, float64, complex128, bool

// The bytes of the number as an element. Throws std::invalid_argument, in NumPy's words, for an integer that an integer dtype cannot hold.
std::array<std::byte, 16> element(const Scalar& scalar, DType dtype);
bool fits(const Scalar& scalar, DType dtype);

// What inputs that promote to `promoted` are cast to before the operator.
DType operands_dtype(Op op, DType promoted);

}  // namespace lowtide
