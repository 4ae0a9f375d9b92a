// From an operator on elements to a kernel on strips.
//
//   struct Add { template <class T> static T of(T a, T b) { … } };
//   StripKernel kernel = pick<Add, Binary, Integers, Floats>(in);    // nullptr if none of these is `in`
//
// A scalar is spread over a piece of stack which the loop then reads like any other input: one loop an operator and
// dtype instead of three, for a load from L1 that hides behind the store.
#pragma once

#include "lowtide/kernels/elementwise.h"
#include "lowtide/kernels/strips/element.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

template <class... T>
struct Elements {};
using Bools = Elements<Bool>;
using Integers = Elements<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                          std::uint32_t, std::uint64_t>;
using Floats = Elements<float, double>;
using Complexes = Elements<Complex64, Complex128>;

constexpr std::size_t spread_bytes = 2048;

template <class T>
struct Spread {
  static constexpr std::size_t count = spread_bytes / sizeof(T);
  alignas(64) T items[count];

  // Copies as many as will be read; `one` may lie in the output.
  Spread(const T* one, std::size_t wanted) {
    const T value = *one;
    const std::size_t n = wanted < count ? wanted : count;
    for (std::size_t i = 0; i < n; ++i) items[i] = value;
  }
};

template <class T>
const T* elements(const std::byte* bytes) {
  return reinterpret_cast<const T*>(bytes);
}
template <class T>
T* elements(std::byte* bytes) {
  return reinterpret_cast<T*>(bytes);
}

// ivdep: an output is an input itself or apart from it, so no iteration reads what an earlier one wrote.
template <class F, class Out, class In>
[[gnu::noinline]] void loop(Out* out, const In* x, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) out[i] = F::of(x[i]);
}
template <class F, class Out, class In>
[[gnu::noinline]] void loop(Out* out, const In* x, const In* y, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) out[i] = F::of(x[i], y[i]);
}

template <class Out>
void fill(Out* out, Out value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = value;
}

// Runs `step(out, x, y, n)` over a strip whose inputs may be scalars.
template <class Out, class In, class Step>
[[gnu::always_inline]] inline void in_steps(const StripArgs& args, Step step) {
  auto* out = elements<Out>(args.out);
  const auto *x = elements<In>(args.in[0]), *y = elements<In>(args.in[1]);
  switch (args.scalars & 3) {
    case 0:
      step(out, x, y, args.count);
      return;
    case 1: {
      const Spread<In> spread(x, args.count);
      for (std::size_t i = 0; i < args.count; i += spread.count)
        step(out + i, spread.items, y + i, args.count - i < spread.count ? args.count - i : spread.count);
      return;
    }
    case 2: {
      const Spread<In> spread(y, args.count);
      for (std::size_t i = 0; i < args.count; i += spread.count)
        step(out + i, x + i, spread.items, args.count - i < spread.count ? args.count - i : spread.count);
      return;
    }
    default: {
      if (args.count == 0) return;
      Out one;
      step(&one, x, y, 1);
      fill(out, one, args.count);
    }
  }
}

template <class Out, class In, class Step>
[[gnu::always_inline]] inline void in_step(const StripArgs& args, Step step) {
  auto* out = elements<Out>(args.out);
  const auto* x = elements<In>(args.in[0]);
  if ((args.scalars & 1) == 0) {
    step(out, x, args.count);
  } else if (args.count != 0) {
    Out one;
    step(&one, x, 1);
    fill(out, one, args.count);
  }
}

struct Unary {
  template <class F, class In>
  static void strip(const StripArgs& args) {
    using Out = decltype(F::of(In{}));
    in_step<Out, In>(args, [](Out* out, const In* x, std::size_t n) { loop<F, Out, In>(out, x, n); });
  }
};

struct Binary {
  template <class F, class In>
  static void strip(const StripArgs& args) {
    using Out = decltype(F::of(In{}, In{}));
    in_steps<Out, In>(args, [](Out* out, const In* x, const In* y, std::size_t n) { loop<F, Out, In>(out, x, y, n); });
  }
};

template <class F, class Arity, class... T>
StripKernel pick_among(DType in, Elements<T...>) {
  StripKernel kernel = nullptr;
  ((in == dtype_of_element<T> ? void(kernel = &Arity::template strip<F, T>) : void()), ...);
  return kernel;
}

template <class F, class Arity, class... Families>
StripKernel pick(DType in) {
  StripKernel kernel = nullptr;
  ((kernel = kernel == nullptr ? pick_among<F, Arity>(in, Families{}) : kernel), ...);
  return kernel;
}

}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
