// The operator families, one source each. nullptr: the family does not have that operator or dtype.
#pragma once

#include "lowtide/kernels/elementwise.h"
#include "lowtide/kernels/strips/arch.h"

namespace lowtide::LOWTIDE_ARCH {

StripKernel arithmetic(Op op, DType in);  // + - * /, abs, sign, square, sqrt …
StripKernel integers(Op op, DType in);    // floor_divide, gcd, shifts, bits of integers and bools
StripKernel selection(Op op, DType in);   // maximum … fmin, where
StripKernel comparison(Op op, DType in);  // equal … greater_equal
StripKernel predicates(Op op, DType in);  // logical_*, isnan … signbit
StripKernel rounding(Op op, DType in);    // floor … round, parts of complex numbers, the neighbours of a float
StripKernel division(Op op, DType in);    // floor_divide, remainder, fmod of floats
StripKernel functions(Op op, DType in);   // exp … atanh of floats
StripKernel powers(Op op, DType in);      // pow, atan2, hypot, logaddexp of floats
StripKernel halves(Op op, DType in);      // everything of float16

// The first of the above that knows the operator.
StripKernel find(Op op, DType in);

}  // namespace lowtide::LOWTIDE_ARCH
