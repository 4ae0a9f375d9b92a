// The entry points of every build of this folder's sources.
#pragma once

#include "lowtide/kernels/elementwise.h"
#include "lowtide/kernels/reduce.h"

namespace lowtide {

namespace baseline {
StripKernel find(Op op, DType in);
const ReduceKernel* find(Reduction reduction, DType in);
}  // namespace baseline

namespace avx2 {
StripKernel find(Op op, DType in);
const ReduceKernel* find(Reduction reduction, DType in);
}  // namespace avx2

namespace avx512 {
StripKernel find(Op op, DType in);
const ReduceKernel* find(Reduction reduction, DType in);
}  // namespace avx512

}  // namespace lowtide
