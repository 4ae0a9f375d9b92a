// Two passes over what is in cache: the mean of a piece, then the squares about it. Pieces are merged by Chan's formula.
#include "lowtide/kernels/strips/accumulator.h"
#include "lowtide/kernels/strips/lanes.h"
#include "lowtide/kernels/strips/reductions.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

[[gnu::always_inline]] inline double mean(const WideSum& sum, std::int64_t count) {
  return rounded(sum) / static_cast<double>(count);
}

// Squares that two groups of elements add by the distance of their means.
[[gnu::always_inline]] inline double between(double distance, std::int64_t a, std::int64_t b) {
  return distance * distance * (static_cast<double>(a) * (static_cast<double>(b) / static_cast<double>(a + b)));
}

using RealState = MomentState<WideSum>;
using ComplexState = MomentState<ComplexSum>;

void merge_real(RealState& into, const RealState& from) {
  if (from.count == 0) return;
  if (into.count == 0) {
    into = from;
    return;
  }
  const double distance = mean(from.sum, from.count) - mean(into.sum, into.count);
  into.squares += from.squares + between(distance, into.count, from.count);
  add(into.sum, from.sum);
  into.count += from.count;
}

void merge_complex(ComplexState& into, const ComplexState& from) {
  if (from.count == 0) return;
  if (into.count == 0) {
    into = from;
    return;
  }
  const double re = mean(from.sum.re, from.count) - mean(into.sum.re, into.count);
  const double im = mean(from.sum.im, from.count) - mean(into.sum.im, into.count);
  into.squares += from.squares + (between(re, into.count, from.count) + between(im, into.count, from.count));
  add(into.sum.re, from.sum.re);
  add(into.sum.im, from.sum.im);
  into.count += from.count;
}

template <class Stored>
struct RealMoments {
  using State = RealState;
  using Value = ValueOf<Stored>;
  static void init(State& state) { state = {}; }
  static void take(State& state, const Value* values, std::size_t count, std::int64_t) {
    const Pair pair = sum_lanes(values, count);
    const double sum = pair.even + pair.odd, center = sum / static_cast<double>(count);
    merge(state, {static_cast<std::int64_t>(count), {sum, 0}, squares_lanes(values, count, {center, center})});
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    double sums[block_columns], squares[block_columns], centers[block_columns];
    for (std::size_t j = 0; j < block.columns; ++j) sums[j] = squares[j] = 0;
    Reader<Stored> reader;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      for (std::size_t j = 0; j < block.columns; ++j) sums[j] += static_cast<double>(values[j]);
    }
    for (std::size_t j = 0; j < block.columns; ++j) centers[j] = sums[j] / static_cast<double>(block.rows);
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      for (std::size_t j = 0; j < block.columns; ++j) {
        const double distance = static_cast<double>(values[j]) - centers[j];
        squares[j] += distance * distance;
      }
    }
    for (std::size_t j = 0; j < block.columns; ++j)
      merge(states[j], {static_cast<std::int64_t>(block.rows), {sums[j], 0}, squares[j]});
  }
  static void merge(State& into, const State& from) { merge_real(into, from); }
};

template <class Stored>
struct ComplexMoments {
  using State = ComplexState;
  static void init(State& state) { state = {}; }
  static void take(State& state, const Stored* values, std::size_t count, std::int64_t) {
    const Pair sum = sum_lanes(&values->re, 2 * count);
    const auto n = static_cast<double>(count);
    const double squares = squares_lanes(&values->re, 2 * count, {sum.even / n, sum.odd / n});
    merge(state, {static_cast<std::int64_t>(count), {{sum.even, 0}, {sum.odd, 0}}, squares});
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    for (std::size_t j = 0; j < block.columns; ++j) {
      double re = 0, im = 0, squares = 0;
      for (std::size_t i = 0; i < block.rows; ++i) {
        re += static_cast<double>(block.row(i)[j].re);
        im += static_cast<double>(block.row(i)[j].im);
      }
      const auto n = static_cast<double>(block.rows);
      for (std::size_t i = 0; i < block.rows; ++i) {
        const double x = static_cast<double>(block.row(i)[j].re) - re / n;
        const double y = static_cast<double>(block.row(i)[j].im) - im / n;
        squares += x * x + y * y;
      }
      merge(states[j], {static_cast<std::int64_t>(block.rows), {{re, 0}, {im, 0}}, squares});
    }
  }
  static void merge(State& into, const State& from) { merge_complex(into, from); }
};

}  // namespace

const ReduceKernel* moments(Reduction reduction, DType in) {
  if (reduction != Reduction::moments) return nullptr;
  if (const auto* kernel =
          kernel_for<RealMoments, Bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                     std::uint16_t, std::uint32_t, std::uint64_t, Half, float, double>(in))
    return kernel;
  return kernel_for<ComplexMoments, Complex64, Complex128>(in);
}

}  // namespace lowtide::LOWTIDE_ARCH
