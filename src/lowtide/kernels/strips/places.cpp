#include "lowtide/kernels/strips/accumulator.h"
#include "lowtide/kernels/strips/extreme.h"
#include "lowtide/kernels/strips/reductions.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

template <class Stored, bool greatest>
struct PlaceOf {
  using Value = ValueOf<Stored>;
  using State = Place<Value>;
  static constexpr std::size_t piece = 512;  // searched again when it holds a new extreme

  static void init(State& state) { state = {least_wanted<Value, greatest>(), -1}; }

  static bool replaces(const Value& x, const State& state) {
    return state.index < 0 || (!is_nan(state.value) && (is_nan(x) || beats<greatest>(x, state.value)));
  }

  static void take(State& state, const Value* values, std::size_t count, std::int64_t first_index) {
    for (std::size_t i = 0; i < count; i += piece) {
      const std::size_t n = count - i < piece ? count - i : piece;
      const Value found = extreme<greatest>(values + i, n);
      if (!replaces(found, state)) continue;
      std::size_t k = i;
      if (is_nan(found))
        while (!is_nan(values[k])) ++k;
      else
        while (!equal(values[k], found)) ++k;
      state = {values[k], first_index + static_cast<std::int64_t>(k)};
    }
  }

  static void take_rows(State* states, const RowBlock<Stored>& block) {
    Reader<Stored> reader;
    for (std::size_t i = 0; i < block.rows; ++i) {
      const Value* values = reader.read(block.row(i), block.columns);
      const std::int64_t index = block.first_index + static_cast<std::int64_t>(i) * block.index_step;
      for (std::size_t j = 0; j < block.columns; ++j)
        if (replaces(values[j], states[j])) states[j] = {values[j], index};
    }
  }

  static void merge(State& into, const State& from) {
    if (from.index >= 0 && replaces(from.value, into)) into = from;
  }
};

template <class Stored>
using FirstLeast = PlaceOf<Stored, false>;
template <class Stored>
using FirstGreatest = PlaceOf<Stored, true>;

template <template <class> class Accumulator>
const ReduceKernel* any_dtype(DType in) {
  return kernel_for<Accumulator, Bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                    std::uint16_t, std::uint32_t, std::uint64_t, Half, float, double, Complex64, Complex128>(in);
}

}  // namespace

const ReduceKernel* places(Reduction reduction, DType in) {
  if (reduction == Reduction::argmin) return any_dtype<FirstLeast>(in);
  if (reduction == Reduction::argmax) return any_dtype<FirstGreatest>(in);
  return nullptr;
}

}  // namespace lowtide::LOWTIDE_ARCH
