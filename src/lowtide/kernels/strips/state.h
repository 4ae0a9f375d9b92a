// What the accumulators of kernels/reduce.h hold. Plain data: shared by the builds for every instruction set.
#pragma once

#include <cstdint>

namespace lowtide {

// high + low, of which high is the rounded sum; low is 0 where high is not finite.
struct WideSum {
  double high, low;
};

template <class Sum>
struct MomentState {
  std::int64_t count;
  Sum sum;
  double squares;  // of the distances to the mean
};

struct ComplexSum {
  WideSum re, im;
};

struct ComplexProduct {
  double re, im;
};

// float16 is held as float32, bool as uint8.
template <class Value>
struct alignas(8) Extreme {
  Value value;
};

template <class Value>
struct alignas(8) Place {
  Value value;
  std::int64_t index;  // -1 before the first element
};

}  // namespace lowtide
