// Sums in 32 lanes of float64, combined in one order: the same bits whatever the width of a register.
//
//   Pair sum = sum_lanes(values, count);     // sum.even + sum.odd of real numbers
//
// Of complex numbers the even lanes hold real parts, the odd ones imaginary parts.
#pragma once

#include "lowtide/kernels/strips/element.h"
#include "lowtide/kernels/strips/state.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

typedef double Lanes __attribute__((vector_size(LOWTIDE_REGISTER_BYTES)));
constexpr std::size_t lane_count = 32, lane_width = LOWTIDE_REGISTER_BYTES / sizeof(double),
                      register_count = lane_count / lane_width;

struct Pair {
  double even, odd;
};

template <class Value>
[[gnu::always_inline]] inline void load_lanes(const Value* x, Lanes& out) {
  typedef Value Values __attribute__((vector_size(lane_width * sizeof(Value))));
  Values values;
  __builtin_memcpy(&values, x, sizeof values);
  out = __builtin_convertvector(values, Lanes);
}

// `step(lanes, x)` for every register of values; those past the end are `pad`, even and odd in turn.
template <class Value, class Step>
[[gnu::always_inline]] inline void fold_lanes(const Value* x, std::size_t count, const Pair& pad,
                                              Lanes (&lanes)[register_count], Step step) {
  std::size_t i = 0;
  for (; i + lane_count <= count; i += lane_count) {
    for (std::size_t k = 0; k < register_count; ++k) {
      Lanes values;
      load_lanes(x + i + lane_width * k, values);
      step(lanes[k], values);
    }
  }
  if (i == count) return;
  double tail[lane_count];
  for (std::size_t j = 0; j < lane_count; ++j)
    tail[j] = i + j < count ? static_cast<double>(x[i + j]) : j % 2 == 0 ? pad.even : pad.odd;
  for (std::size_t k = 0; k < register_count; ++k) {
    Lanes values;
    load_lanes(tail + lane_width * k, values);
    step(lanes[k], values);
  }
}

// In one order, whatever the registers: lanes 8 apart, then 4, 2 and, by the caller, the two of the pair.
template <class Join>
[[gnu::always_inline]] inline Pair join_lanes(const Lanes (&lanes)[register_count], Join join) {
  double all[lane_count];
  __builtin_memcpy(all, lanes, sizeof all);
  double eight[8];
  for (std::size_t k = 0; k < 8; ++k) eight[k] = join(join(all[k], all[k + 8]), join(all[k + 16], all[k + 24]));
  return {join(join(eight[0], eight[4]), join(eight[2], eight[6])),
          join(join(eight[1], eight[5]), join(eight[3], eight[7]))};
}

constexpr auto plus = [](double a, double b) { return a + b; };

template <class Value>
Pair sum_lanes(const Value* x, std::size_t count) {
  Lanes lanes[register_count] = {};
  fold_lanes(x, count, {0, 0}, lanes, [](Lanes& lane, const Lanes& values) { lane += values; });
  return join_lanes(lanes, plus);
}

// The sum of squared distances to `center`.
template <class Value>
double squares_lanes(const Value* x, std::size_t count, const Pair& center) {
  Lanes lanes[register_count] = {}, centers = {};
  for (std::size_t k = 0; k < lane_width; ++k) centers[k] = k % 2 == 0 ? center.even : center.odd;
  fold_lanes(x, count, center, lanes, [&](Lanes& lane, const Lanes& values) {
    const Lanes distance = values - centers;
    lane += distance * distance;
  });
  const Pair pair = join_lanes(lanes, plus);
  return pair.even + pair.odd;
}

// Knuth's TwoSum: what rounding loses goes to low, unless the sum is no longer a number.
[[gnu::always_inline]] inline void add(WideSum& sum, double x) {
  const double high = sum.high + x, part = high - sum.high;
  const double lost = (sum.high - (high - part)) + (x - part);
  sum.high = high;
  sum.low = high - high == 0 ? sum.low + lost : 0;
}

[[gnu::always_inline]] inline void add(WideSum& sum, const WideSum& other) {
  add(sum, other.high);
  if (sum.high - sum.high == 0) sum.low += other.low;
}

[[gnu::always_inline]] inline double rounded(const WideSum& sum) { return sum.high + sum.low; }

}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
