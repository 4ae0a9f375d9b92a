// For tests: an operator on vectors, by the build for one instruction set.
//
//   std::vector<double> sum = call<double>(Op::add, {x, y}, Simd::avx2);
#pragma once

#include <cstring>
#include <initializer_list>
#include <vector>

#include "lowtide/kernels/simd.h"

namespace lowtide {

inline std::vector<Simd> simds_here() {
  std::vector<Simd> found;
  for (const Simd simd : {Simd::baseline, Simd::avx2, Simd::avx512})
    if (simd_runs(simd)) found.push_back(simd);
  return found;
}

template <class T>
std::byte* raw(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}
template <class T>
const std::byte* raw(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

// T and Out are of the sizes of `in` and the result; float16 is std::uint16_t, bool std::uint8_t.
template <class Out, class T>
std::vector<Out> call_as(Op op, DType in, std::initializer_list<std::vector<T>> inputs, Simd simd) {
  std::vector<Out> out(inputs.begin()->size());
  StripArgs args{raw(out), {}, out.size(), 0};
  for (std::size_t i = 0; i < inputs.size(); ++i) args.in[i] = raw(inputs.begin()[i]);
  strip_kernel(op, in, simd)(args);
  return out;
}

template <class Out, class T>
std::vector<Out> call(Op op, std::initializer_list<std::vector<T>> inputs, Simd simd = best_simd()) {
  return call_as<Out>(op, dtype_of<T>, inputs, simd);
}

}  // namespace lowtide
