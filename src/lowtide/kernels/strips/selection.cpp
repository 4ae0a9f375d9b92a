#include "lowtide/kernels/strips/families.h"
#include "lowtide/kernels/strips/loop.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

template <class T>
[[gnu::always_inline]] inline T either(bool first, T a, T b) {
  if constexpr (is_bool<T>)
    return {truth(first ? a : b)};
  else
    return first ? a : b;
}

// Of equal operands, as 0.0 and -0.0, the second: what x86's instructions and so NumPy return.
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return either(less(b, a) || is_nan(a), a, b);
  }
};
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return either(less(a, b) || is_nan(a), a, b);
  }
};
struct Fmax {
  template <class T>
  static T of(T a, T b) {
    return either(less(b, a) || is_nan(b), a, b);
  }
};
struct Fmin {
  template <class T>
  static T of(T a, T b) {
    return either(less(a, b) || is_nan(b), a, b);
  }
};

template <class F>
StripKernel any_dtype(DType in) {
  return pick<F, Binary, Bools, Integers, Floats, Complexes>(in);
}

template <class T>
[[gnu::noinline]] void where_loop(T* out, const std::uint8_t* condition, const T* x, const T* y, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) out[i] = condition[i] != 0 ? x[i] : y[i];
}

// By size alone: the elements are only moved.
template <class T>
void where_strip(const StripArgs& args) {
  StripArgs chosen{args.out, {args.in[1], args.in[2]}, args.count, static_cast<std::uint8_t>(args.scalars >> 1)};
  const std::byte* condition = args.in[0];
  if ((args.scalars & 1) != 0) {
    const bool first = args.count != 0 && condition[0] != std::byte{0};
    const auto* from = elements<T>(args.in[first ? 1 : 2]);
    auto* out = elements<T>(args.out);
    if ((args.scalars & (first ? 2 : 4)) != 0) {
      if (args.count != 0) fill(out, *from, args.count);
    } else if (out != from) {
      __builtin_memcpy(out, from, args.count * sizeof(T));
    }
  } else if ((chosen.scalars & 3) == 3) {
    const Spread<T> x(elements<T>(args.in[1]), args.count), y(elements<T>(args.in[2]), args.count);
    auto* out = elements<T>(args.out);
    const auto* bytes = elements<std::uint8_t>(condition);
    for (std::size_t i = 0; i < args.count; i += x.count)
      where_loop(out + i, bytes + i, x.items, y.items, args.count - i < x.count ? args.count - i : x.count);
  } else {
    const auto* first = elements<T>(args.out);
    in_steps<T, T>(chosen, [&](T* out, const T* x, const T* y, std::size_t n) {
      where_loop(out, elements<std::uint8_t>(condition) + (out - first), x, y, n);
    });
  }
}

void where_bool(const StripArgs& args) {
  where_strip<std::uint8_t>(args);
  auto* out = elements<std::uint8_t>(args.out);
  for (std::size_t i = 0; i < args.count; ++i) out[i] = out[i] != 0;
}

StripKernel where(DType in) {
  switch (in) {
    case DType::bool_:
      return where_bool;
    case DType::int8:
    case DType::uint8:
      return where_strip<std::uint8_t>;
    case DType::int16:
    case DType::uint16:
    case DType::float16:
      return where_strip<std::uint16_t>;
    case DType::int32:
    case DType::uint32:
    case DType::float32:
      return where_strip<std::uint32_t>;
    case DType::int64:
    case DType::uint64:
    case DType::float64:
      return where_strip<std::uint64_t>;
    case DType::complex64:
      return where_strip<Complex64>;
    case DType::complex128:
      return where_strip<Complex128>;
    case DType::bfloat16:
      break;
  }
  return nullptr;
}

}  // namespace

StripKernel selection(Op op, DType in) {
  switch (op) {
    case Op::maximum:
      return any_dtype<Maximum>(in);
    case Op::minimum:
      return any_dtype<Minimum>(in);
    case Op::fmax:
      return any_dtype<Fmax>(in);
    case Op::fmin:
      return any_dtype<Fmin>(in);
    case Op::where:
      return where(in);
    default:
      return nullptr;
  }
}

}  // namespace lowtide::LOWTIDE_ARCH
