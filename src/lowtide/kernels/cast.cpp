#include "lowtide/kernels/cast.h"

#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lowtide/kernels/half.h"

namespace lowtide {
namespace {

struct Boolean {
  std::uint8_t byte;  // a file may hold any value, which a C++ bool may not
};

// In the order of DType.
using Elements = std::tuple<Boolean, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                            std::uint32_t, std::uint64_t, Float16, BFloat16, float, double, std::complex<float>,
                            std::complex<double>>;
static_assert(std::tuple_size_v<Elements> == dtype_count);

template <class T>
inline constexpr bool is_complex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T>
inline constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// cvttss2si and cvttsd2si, defined for all inputs. The operand is replaced rather than the result: that vectorises.
template <class Float>
std::int32_t truncate_32(Float x) {
  const bool fits = x > Float(-2147483649.0) && x < Float(2147483648.0);
  return static_cast<std::int32_t>(fits ? x : Float(-2147483648.0));
}

template <class Float>
std::int64_t truncate_64(Float x) {
  const bool fits = x >= Float(-0x1p63) && x < Float(0x1p63);
  return static_cast<std::int64_t>(fits ? x : Float(-0x1p63));
}

template <class Integer, class Float>
Integer truncate(Float x) {
  if constexpr (std::is_same_v<Integer, std::uint64_t>) {
    if (x >= Float(0x1p63))
      return static_cast<std::uint64_t>(truncate_64(x - Float(0x1p63))) ^ (std::uint64_t{1} << 63);
    return static_cast<std::uint64_t>(truncate_64(x));
  } else if constexpr (sizeof(Integer) == 8 || std::is_same_v<Integer, std::uint32_t>) {
    return static_cast<Integer>(truncate_64(x));
  } else {
    return static_cast<Integer>(truncate_32(x));
  }
}

// The value as a double from which any narrower float rounds as it would from x itself: of a magnitude beyond 53 bits,
// what is cut off is kept as one sticky bit.
template <class Number>
double for_narrowing(Number x) {
  if constexpr (sizeof(Number) == 8 && std::is_integral_v<Number>) {
    const bool negative = x < 0;
    auto magnitude = static_cast<std::uint64_t>(x);
    if (negative) magnitude = 0 - magnitude;
    if (magnitude >> 53 != 0) magnitude = (magnitude >> 11 | std::uint64_t{(magnitude & 0x7FF) != 0}) << 11;
    const auto value = static_cast<double>(magnitude);
    return negative ? -value : value;
  } else {
    return static_cast<double>(x);
  }
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, Boolean>) {
    return convert<To>(static_cast<std::uint8_t>(x.byte != 0));
  } else if constexpr (is_half<From>) {
    return convert<To>(to_float(x));
  } else if constexpr (is_complex<From> && is_complex<To>) {
    using Part = typename To::value_type;
    return To(static_cast<Part>(x.real()), static_cast<Part>(x.imag()));
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return Boolean{x != From{}};
  } else if constexpr (is_complex<From>) {
    return convert<To>(x.real());
  } else if constexpr (is_complex<To>) {
    return To(convert<typename To::value_type>(x), 0);
  } else if constexpr (is_half<To>) {
    const auto value = [&] {
      if constexpr (std::is_same_v<From, float>)
        return x;
      else
        return for_narrowing(x);
    }();
    if constexpr (std::is_same_v<To, Float16>)
      return to_float16(value);
    else
      return to_bfloat16(value);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return truncate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void cast_run(const std::byte* __restrict src, std::byte* __restrict dst, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    From x;
    std::memcpy(&x, src + i * sizeof x, sizeof x);
    const To y = convert<To>(x);
    std::memcpy(dst + i * sizeof y, &y, sizeof y);
  }
}

using CastRun = void (*)(const std::byte*, std::byte*, std::size_t);
using CastRow = std::array<CastRun, dtype_count>;

template <std::size_t From, std::size_t... To>
constexpr CastRow row_from(std::index_sequence<To...>) {
  return {&cast_run<std::tuple_element_t<From, Elements>, std::tuple_element_t<To, Elements>>...};
}

template <std::size_t... From>
constexpr std::array<CastRow, dtype_count> all_rows(std::index_sequence<From...> all) {
  return {row_from<From>(all)...};
}

constexpr auto cast_runs = all_rows(std::make_index_sequence<dtype_count>());

}  // namespace

void cast(const std::byte* src, DType from, std::byte* dst, DType to, std::size_t count) {
  if (count == 0) return;
  if (from == to) {
    std::memcpy(dst, src, count * itemsize(from));
    return;
  }
  cast_runs[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)](src, dst, count);
}

}  // namespace lowtide
