// Elementwise operators on strips: a few hundred to a few thousand elements that sit in the first levels of cache.
//
//   StripKernel kernel = strip_kernel(Op::add, DType::float32);        // once a plan
//   kernel({.out = sum, .in = {x, y}, .count = 1024, .scalars = 0});   // once a strip
//
// Results are NumPy 2's: integers wrap, 1 // 0 and 1 % 0 of integers are 0, shifts beyond the width give 0 or the sign,
// maximum propagates NaN and fmax ignores it, complex numbers compare lexicographically, float16 is computed in float32
// and rounded once an operator. Integer pow takes a negative exponent modulo 2^bits. A bool input is true if its byte is
// not 0; bool results are 0 or 1.
//
// + - * / sqrt, comparisons and integers give the same bits on every CPU; the other functions of floats agree within
// their error, at most 4 units in the last place.
//
// Thread-safe: pure functions. Elements are aligned to their size (complex: to that of a part), no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "lowtide/dtype.h"
#include "lowtide/kernels/op.h"

namespace lowtide {

// Of `op` on inputs of dtype `in` (where: of its second and third). nullopt where NumPy has no loop for `in`: the caller
// casts first, as for sqrt or divide of integers. Of bfloat16 nothing is computed.
std::optional<DType> result_dtype(Op op, DType in);

struct StripArgs {
  std::byte* out;          // may be an input of the same itemsize; otherwise overlaps none
  const std::byte* in[3];  // as many as the operator's arity
  std::size_t count;       // of elements
  std::uint8_t scalars;    // bit i: in[i] is one element that stands for all
};
using StripKernel = void (*)(const StripArgs&);

// The fastest that this CPU runs; nullptr where result_dtype is nullopt. Cheap, but not for every strip.
StripKernel strip_kernel(Op op, DType in);

}  // namespace lowtide
