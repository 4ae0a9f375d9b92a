// The transcendental functions of complex numbers, with the branch cuts and special values of C99 and so of NumPy.
// The same code on every CPU: libm's.
//
// Thread-safe: pure.
#pragma once

#include "lowtide/kernels/elementwise.h"

namespace lowtide {

// nullptr for other operators and dtypes.
StripKernel complex_function(Op op, DType in);

}  // namespace lowtide
