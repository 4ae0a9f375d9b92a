#include "lowtide/kernels/strips/accumulator.h"
#include "lowtide/kernels/strips/extreme.h"
#include "lowtide/kernels/strips/reductions.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

template <class Stored, bool greatest>
struct ExtremeOf {
  using Value = ValueOf<Stored>;
  using State = Extreme<Value>;
  static void init(State& state) { state.value = least_wanted<Value, greatest>(); }
  static void take(State& state, const Value* values, std::size_t count, std::int64_t) {
    choose<greatest>(state.value, extreme<greatest>(values, count));
  }
  static void take_rows(State* states, const RowBlock<Stored>& block) {
    Value found[block_columns];
    for (std::size_t j = 0; j < block.columns; ++j) found[j] = states[j].value;
    Reader<Stored> reader;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      for (std::size_t j = 0; j < block.columns; ++j) choose<greatest>(found[j], values[j]);
    }
    for (std::size_t j = 0; j < block.columns; ++j) states[j].value = found[j];
  }
  static void merge(State& into, const State& from) { choose<greatest>(into.value, from.value); }
};

template <class Stored>
using Least = ExtremeOf<Stored, false>;
template <class Stored>
using Greatest = ExtremeOf<Stored, true>;

template <template <class> class Accumulator>
const ReduceKernel* any_dtype(DType in) {
  return kernel_for<Accumulator, Bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                    std::uint16_t, std::uint32_t, std::uint64_t, Half, float, double, Complex64, Complex128>(in);
}

}  // namespace

const ReduceKernel* extremes(Reduction reduction, DType in) {
  if (reduction == Reduction::min) return any_dtype<Least>(in);
  if (reduction == Reduction::max) return any_dtype<Greatest>(in);
  return nullptr;
}

}  // namespace lowtide::LOWTIDE_ARCH
