// Which of the builds of the kernels runs here.
//
//   best_simd();                                            // Simd::avx512 on a CPU that has it
//   strip_kernel(Op::add, DType::float32, Simd::baseline);  // for tests: any build that simd_runs
//
// Thread-safe. The environment is read once.
#pragma once

#include "lowtide/kernels/elementwise.h"
#include "lowtide/kernels/reduce.h"

namespace lowtide {

enum class Simd : std::uint8_t {
  baseline,  // x86-64-v2; on other machines the only one
  avx2,      // x86-64-v3
  avx512,    // x86-64-v4
};

// Whether the CPU and the operating system run it, and it was built.
bool simd_runs(Simd simd);
// The widest that runs. LOWTIDE_SIMD=baseline, avx2 or avx512 asks for less; anything else, or more than runs, is ignored.
Simd best_simd();

// REQUIRES: simd_runs(simd) for what they return to be called.
StripKernel strip_kernel(Op op, DType in, Simd simd);
const ReduceKernel* reduce_kernel(Reduction reduction, DType in, Simd simd);

}  // namespace lowtide
