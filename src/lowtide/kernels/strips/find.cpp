#include "lowtide/kernels/strips/families.h"

namespace lowtide::LOWTIDE_ARCH {

StripKernel find(Op op, DType in) {
  if (in == DType::float16) return halves(op, in);
  for (const auto family :
       {arithmetic, integers, selection, comparison, predicates, rounding, division, functions, powers}) {
    if (const StripKernel kernel = family(op, in)) return kernel;
  }
  return nullptr;
}

}  // namespace lowtide::LOWTIDE_ARCH
