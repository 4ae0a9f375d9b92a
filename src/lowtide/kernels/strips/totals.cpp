#include "lowtide/kernels/strips/accumulator.h"
#include "lowtide/kernels/strips/lanes.h"
#include "lowtide/kernels/strips/reductions.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

template <class Stored>
struct IntegerSum {
  using State = std::uint64_t;
  using Value = ValueOf<Stored>;
  static void init(State& state) { state = 0; }
  static void take(State& state, const Value* values, std::size_t count, std::int64_t) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += static_cast<std::uint64_t>(values[i]);
    state += sum;
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    Reader<Stored> reader;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      for (std::size_t j = 0; j < block.columns; ++j) states[j] += static_cast<std::uint64_t>(values[j]);
    }
  }
  static void merge(State& into, const State& from) { into += from; }
};

template <class Stored>
struct IntegerProduct {
  using State = std::uint64_t;
  using Value = ValueOf<Stored>;
  static void init(State& state) { state = 1; }
  static void take(State& state, const Value* values, std::size_t count, std::int64_t) {
    std::uint64_t product = 1;
    for (std::size_t i = 0; i < count; ++i) product *= static_cast<std::uint64_t>(values[i]);
    state *= product;
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    Reader<Stored> reader;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      for (std::size_t j = 0; j < block.columns; ++j) states[j] *= static_cast<std::uint64_t>(values[j]);
    }
  }
  static void merge(State& into, const State& from) { into *= from; }
};

template <class Stored>
struct FloatSum {
  using State = WideSum;
  using Value = ValueOf<Stored>;
  static void init(State& state) { state = {0, 0}; }
  static void take(State& state, const Value* values, std::size_t count, std::int64_t) {
    const Pair sum = sum_lanes(values, count);
    add(state, sum.even + sum.odd);
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    double sums[block_columns];
    for (std::size_t j = 0; j < block.columns; ++j) sums[j] = 0;
    Reader<Stored> reader;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      for (std::size_t j = 0; j < block.columns; ++j) sums[j] += static_cast<double>(values[j]);
    }
    for (std::size_t j = 0; j < block.columns; ++j) add(states[j], sums[j]);
  }
  static void merge(State& into, const State& from) { add(into, from); }
};

template <class Stored>
struct FloatProduct {
  using State = double;
  using Value = ValueOf<Stored>;
  static void init(State& state) { state = 1; }
  static void take(State& state, const Value* values, std::size_t count, std::int64_t) {
    Lanes lanes[register_count];
    for (Lanes& lane : lanes)
      for (std::size_t k = 0; k < lane_width; ++k) lane[k] = 1;
    fold_lanes(values, count, {1, 1}, lanes, [](Lanes& lane, const Lanes& factors) { lane *= factors; });
    const Pair product = join_lanes(lanes, [](double a, double b) { return a * b; });
    state *= product.even * product.odd;
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    Reader<Stored> reader;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      for (std::size_t j = 0; j < block.columns; ++j) states[j] *= static_cast<double>(values[j]);
    }
  }
  static void merge(State& into, const State& from) { into *= from; }
};

template <class Stored>
struct SumOfComplex {
  using State = ComplexSum;
  static void init(State& state) { state = {}; }
  static void take(State& state, const Stored* values, std::size_t count, std::int64_t) {
    const Pair sum = sum_lanes(&values->re, 2 * count);
    add(state.re, sum.even);
    add(state.im, sum.odd);
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    double re[block_columns], im[block_columns];
    for (std::size_t j = 0; j < block.columns; ++j) re[j] = im[j] = 0;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Stored* values = block.row(i);
      for (std::size_t j = 0; j < block.columns; ++j) {
        re[j] += static_cast<double>(values[j].re);
        im[j] += static_cast<double>(values[j].im);
      }
    }
    for (std::size_t j = 0; j < block.columns; ++j) {
      add(states[j].re, re[j]);
      add(states[j].im, im[j]);
    }
  }
  static void merge(State& into, const State& from) {
    add(into.re, from.re);
    add(into.im, from.im);
  }
};

template <class Stored>
struct ProductOfComplex {
  using State = ComplexProduct;
  static void init(State& state) { state = {1, 0}; }
  static void take_one(State& state, double re, double im) {
    state = {state.re * re + opposite(state.im * im), state.re * im + state.im * re};
  }
  static void take(State& state, const Stored* values, std::size_t count, std::int64_t) {
    for (std::size_t i = 0; i < count; ++i) take_one(state, values[i].re, values[i].im);
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    for (std::size_t i = 0; i < block.rows; ++i)
      for (std::size_t j = 0; j < block.columns; ++j) take_one(states[j], block.row(i)[j].re, block.row(i)[j].im);
  }
  static void merge(State& into, const State& from) { take_one(into, from.re, from.im); }
};

template <template <class> class OfIntegers, template <class> class OfFloats, template <class> class OfComplexes>
const ReduceKernel* total(DType in) {
  if (const auto* kernel = kernel_for<OfIntegers, Bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                      std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(in))
    return kernel;
  if (const auto* kernel = kernel_for<OfFloats, Half, float, double>(in)) return kernel;
  return kernel_for<OfComplexes, Complex64, Complex128>(in);
}

}  // namespace

const ReduceKernel* totals(Reduction reduction, DType in) {
  if (reduction == Reduction::sum) return total<IntegerSum, FloatSum, SumOfComplex>(in);
  if (reduction == Reduction::prod) return total<IntegerProduct, FloatProduct, ProductOfComplex>(in);
  return nullptr;
}

}  // namespace lowtide::LOWTIDE_ARCH
