#include "lowtide/kernels/strips/reductions.h"

namespace lowtide::LOWTIDE_ARCH {

const ReduceKernel* find(Reduction reduction, DType in) {
  for (const auto family : {totals, extremes, places, truths, moments}) {
    if (const ReduceKernel* kernel = family(reduction, in)) return kernel;
  }
  return nullptr;
}

}  // namespace lowtide::LOWTIDE_ARCH
