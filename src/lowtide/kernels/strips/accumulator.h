// From an accumulator to a ReduceKernel.
//
//   struct Sum {
//     using State = …;
//     static void init(State&);
//     static void take(State&, const Value* values, std::size_t count, std::int64_t first_index);
//     static void take_rows(State*, const RowBlock<Stored>&);
//     static void merge(State& into, const State& from);
//   };
//   const ReduceKernel* kernel = &kernel_of<Sum, Stored>;
//
// Values reach it in pieces of at most piece_count, columns in blocks of at most block_columns by block_rows. Stored
// types that are no C++ numbers, Bool and Half, are turned into uint8 and float32 on the way.
#pragma once

#include "lowtide/kernels/reduce.h"
#include "lowtide/kernels/strips/element.h"
#include "lowtide/kernels/strips/half_floats.h"
#include "lowtide/kernels/strips/state.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

constexpr std::size_t piece_count = 4096, block_columns = 256, block_rows = 64;

struct Half {
  std::uint16_t bits;
};

// Numbers are read where they lie.
template <class Stored>
struct Reader {
  using Value = Stored;
  static constexpr bool converts = false;
  const Value* read(const Stored* data, std::size_t) { return data; }
};

template <>
struct Reader<Bool> {
  using Value = std::uint8_t;
  static constexpr bool converts = true;
  Value buffer[block_columns];
  const Value* read(const Bool* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) buffer[i] = data[i].byte != 0;
    return buffer;
  }
};

template <>
struct Reader<Half> {
  using Value = float;
  static constexpr bool converts = true;
  Value buffer[block_columns];
  const Value* read(const Half* data, std::size_t count) {
    widen_halves(&data->bits, buffer, count);
    return buffer;
  }
};

template <class Stored>
using ValueOf = typename Reader<Stored>::Value;

template <class Stored>
struct RowBlock {
  const std::byte* data;
  std::size_t columns, rows, stride_bytes;
  std::int64_t first_index, index_step;

  const Stored* row(std::size_t i) const { return reinterpret_cast<const Stored*>(data + i * stride_bytes); }
};

template <class Accumulator>
void init_states(std::byte* bytes, std::size_t count) {
  auto* states = reinterpret_cast<typename Accumulator::State*>(bytes);
  for (std::size_t i = 0; i < count; ++i) Accumulator::init(states[i]);
}

template <class Accumulator>
void merge_states(std::byte* into, const std::byte* from, std::size_t count) {
  using State = typename Accumulator::State;
  auto* states = reinterpret_cast<State*>(into);
  const auto* others = reinterpret_cast<const State*>(from);
  for (std::size_t i = 0; i < count; ++i) Accumulator::merge(states[i], others[i]);
}

template <class Accumulator, class Stored>
void run_state(std::byte* state, const std::byte* bytes, std::size_t count, std::int64_t first_index) {
  constexpr std::size_t most = Reader<Stored>::converts ? block_columns : piece_count;
  const auto* data = reinterpret_cast<const Stored*>(bytes);
  Reader<Stored> reader;
  for (std::size_t i = 0; i < count; i += most) {
    const std::size_t n = count - i < most ? count - i : most;
    Accumulator::take(*reinterpret_cast<typename Accumulator::State*>(state), reader.read(data + i, n), n,
                      first_index + static_cast<std::int64_t>(i));
  }
}

template <class Accumulator, class Stored>
void row_states(std::byte* bytes, const std::byte* data, std::size_t columns, std::size_t rows,
                std::size_t row_stride_bytes, std::int64_t first_index, std::int64_t index_step) {
  auto* states = reinterpret_cast<typename Accumulator::State*>(bytes);
  for (std::size_t i = 0; i < rows; i += block_rows) {
    for (std::size_t j = 0; j < columns; j += block_columns) {
      const RowBlock<Stored> block{data + i * row_stride_bytes + j * sizeof(Stored),
                                   columns - j < block_columns ? columns - j : block_columns,
                                   rows - i < block_rows ? rows - i : block_rows,
                                   row_stride_bytes,
                                   first_index + static_cast<std::int64_t>(i) * index_step,
                                   index_step};
      Accumulator::take_rows(states + j, block);
    }
  }
}

template <class Accumulator, class Stored>
constexpr ReduceKernel kernel_of = {sizeof(typename Accumulator::State), init_states<Accumulator>,
                                    run_state<Accumulator, Stored>, row_states<Accumulator, Stored>,
                                    merge_states<Accumulator>};

template <class Stored>
constexpr DType dtype_of_stored = dtype_of_element<Stored>;
template <>
constexpr DType dtype_of_stored<Half> = DType::float16;

// The kernel of Accumulator<Stored> for the Stored whose dtype is `in`.
template <template <class> class Accumulator, class... Stored>
const ReduceKernel* kernel_for(DType in) {
  const ReduceKernel* kernel = nullptr;
  ((in == dtype_of_stored<Stored> ? void(kernel = &kernel_of<Accumulator<Stored>, Stored>) : void()), ...);
  return kernel;
}

}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
