#include "lowtide/kernels/strips/accumulator.h"
#include "lowtide/kernels/strips/reductions.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

template <class Value>
std::uint64_t count_true(const Value* values, std::size_t count) {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < count; ++i) found += truth(values[i]);
  return found;
}

template <class Stored>
struct CountNonzero {
  using State = std::uint64_t;
  using Value = ValueOf<Stored>;
  static void init(State& state) { state = 0; }
  static void take(State& state, const Value* values, std::size_t count, std::int64_t) {
    state += count_true(values, count);
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    Reader<Stored> reader;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      for (std::size_t j = 0; j < block.columns; ++j) states[j] += truth(values[j]);
    }
  }
  static void merge(State& into, const State& from) { into += from; }
};

template <class Stored>
struct Any {
  using State = std::uint64_t;
  using Value = ValueOf<Stored>;
  static void init(State& state) { state = 0; }
  static void take(State& state, const Value* values, std::size_t count, std::int64_t) {
    if (state == 0) state = count_true(values, count) != 0;
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    Reader<Stored> reader;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      for (std::size_t j = 0; j < block.columns; ++j) states[j] |= std::uint64_t{truth(values[j])};
    }
  }
  static void merge(State& into, const State& from) { into |= from; }
};

template <class Stored>
struct All {
  using State = std::uint64_t;
  using Value = ValueOf<Stored>;
  static void init(State& state) { state = 1; }
  static void take(State& state, const Value* values, std::size_t count, std::int64_t) {
    if (state != 0) state = count_true(values, count) == count;
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    Reader<Stored> reader;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      for (std::size_t j = 0; j < block.columns; ++j) states[j] &= std::uint64_t{truth(values[j])};
    }
  }
  static void merge(State& into, const State& from) { into &= from; }
};

template <template <class> class Accumulator>
const ReduceKernel* any_dtype(DType in) {
  return kernel_for<Accumulator, Bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                    std::uint16_t, std::uint32_t, std::uint64_t, Half, float, double, Complex64, Complex128>(in);
}

}  // namespace

const ReduceKernel* truths(Reduction reduction, DType in) {
  if (reduction == Reduction::any) return any_dtype<Any>(in);
  if (reduction == Reduction::all) return any_dtype<All>(in);
  if (reduction == Reduction::count_nonzero) return any_dtype<CountNonzero>(in);
  return nullptr;
}

}  // namespace lowtide::LOWTIDE_ARCH
