// Reductions: accumulators that take runs or rows of elements, merge, and are turned into a result at the end.
//
//   const ReduceKernel* sum = reduce_kernel(Reduction::sum, DType::float32);
//   std::vector<std::byte> state(sum->state_bytes);
//   sum->init(state.data(), 1);
//   sum->run(state.data(), strip, 4096, 0);                                              // as often as there are strips
//   finish(Reduction::sum, DType::float32, state.data(), 1, out, DType::float32, {});
//
// Floats are summed in 32 lanes of float64, a number no CPU changes, and the sums of strips as pairs of float64: results
// have the same bits on every CPU, and do not depend on how the elements are cut into calls beyond the last rounding.
// Moments keep the count, the sum and the sum of squares about the mean, merged by Chan's formula. NaN and infinity do
// what they do in NumPy: min and max propagate NaN, argmin and argmax return the first. Complex numbers are ordered
// lexicographically.
//
// Thread-safe: pure functions; a state belongs to one thread at a time. States are aligned to 8 bytes, data to the
// element (complex: its part).
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/dtype.h"

namespace lowtide {

// moments: count, mean and variance at once.
enum class Reduction : std::uint8_t { sum, prod, min, max, any, all, count_nonzero, argmin, argmax, moments };
inline constexpr std::size_t reduction_count = 10;

struct ReduceKernel {
  std::size_t state_bytes;  // of one accumulator; a multiple of 8
  void (*init)(std::byte* states, std::size_t count);
  // One accumulator takes `count` contiguous elements, the first of which has position `first_index`.
  void (*run)(std::byte* state, const std::byte* data, std::size_t count, std::int64_t first_index);
  // Accumulator j takes element j of every row; row i has position first_index + i * index_step.
  void (*rows)(std::byte* states, const std::byte* data, std::size_t columns, std::size_t rows,
               std::size_t row_stride_bytes, std::int64_t first_index, std::int64_t index_step);
  // One by one; `from` holds later elements than `into`.
  void (*merge)(std::byte* into, const std::byte* from, std::size_t count);
};

// The fastest that this CPU runs; nullptr for bfloat16, which NumPy has not.
const ReduceKernel* reduce_kernel(Reduction reduction, DType in);

// sum, prod: bool and integers int64, unsigned integers uint64, others themselves. min, max: `in`. any, all: bool.
// count_nonzero, argmin, argmax: int64. moments: float64 for bool and integers, others themselves; a complex variance is
// real all the same.
DType reduced_dtype(Reduction reduction, DType in);

// For moments only. The variance is divided by count - correction, or by 0 if that is negative.
struct FinishOptions {
  enum class Moment { mean, var, std } moment = Moment::mean;
  double correction = 0;
};

// Writes `count` results, cast to `out_dtype` as kernels/cast.h does. Of no elements: sum 0, prod 1, mean NaN; min, max,
// argmin and argmax need at least one.
void finish(Reduction reduction, DType in, const std::byte* states, std::size_t count, std::byte* out, DType out_dtype,
            const FinishOptions& options);

}  // namespace lowtide
