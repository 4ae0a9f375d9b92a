// The families of reductions, one source each. nullptr: another family's.
#pragma once

#include "lowtide/kernels/reduce.h"
#include "lowtide/kernels/strips/arch.h"

namespace lowtide::LOWTIDE_ARCH {

const ReduceKernel* totals(Reduction reduction, DType in);    // sum, prod
const ReduceKernel* extremes(Reduction reduction, DType in);  // min, max
const ReduceKernel* places(Reduction reduction, DType in);    // argmin, argmax
const ReduceKernel* truths(Reduction reduction, DType in);    // any, all, count_nonzero
const ReduceKernel* moments(Reduction reduction, DType in);

// The first of the above that knows the reduction.
const ReduceKernel* find(Reduction reduction, DType in);

}  // namespace lowtide::LOWTIDE_ARCH
