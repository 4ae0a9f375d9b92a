// Elements as strips hold them, and the arithmetic they share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "lowtide/dtype.h"
#include "lowtide/kernels/strips/arch.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

struct Bool {
  std::uint8_t byte;  // as an input any value: not 0 is true
};

template <class Part>
struct Complex {
  Part re, im;
};
using Complex64 = Complex<float>;
using Complex128 = Complex<double>;

template <class T>
constexpr DType dtype_of_element = dtype_of<T>;
template <>
constexpr DType dtype_of_element<Bool> = DType::bool_;
template <>
constexpr DType dtype_of_element<Complex64> = DType::complex64;
template <>
constexpr DType dtype_of_element<Complex128> = DType::complex128;

template <class T>
constexpr bool is_complex = false;
template <class Part>
constexpr bool is_complex<Complex<Part>> = true;
template <class T>
constexpr bool is_bool = std::is_same_v<T, Bool>;
template <class T>
constexpr bool is_integer = std::is_integral_v<T>;
template <class T>
constexpr bool is_real_float = std::is_floating_point_v<T>;

// Wide enough that no integer promotion makes it signed.
template <class T>
using Modular = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
template <class T>
[[gnu::always_inline]] inline Modular<T> modular(T x) {
  return static_cast<Modular<T>>(x);
}

// -x, as an operation on bits. Where a sum stands beside a difference of products, as in complex multiplication, gcc 12
// fuses all four (vfmaddsub) in spite of -ffp-contract=off; of two sums it does not.
template <class T>
[[gnu::always_inline]] inline T opposite(T x) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return __builtin_bit_cast(T, __builtin_bit_cast(Bits, x) ^ (Bits{1} << (sizeof(T) * 8 - 1)));
}

template <class T>
[[gnu::always_inline]] inline bool is_nan(T x) {
  if constexpr (is_complex<T>)
    return x.re != x.re || x.im != x.im;
  else if constexpr (is_real_float<T>)
    return x != x;
  else
    return false;
}

template <class T>
[[gnu::always_inline]] inline bool truth(T x) {
  if constexpr (is_bool<T>)
    return x.byte != 0;
  else if constexpr (is_complex<T>)
    return x.re != 0 || x.im != 0;
  else
    return x != 0;
}

template <class T>
[[gnu::always_inline]] inline bool equal(T a, T b) {
  if constexpr (is_bool<T>)
    return truth(a) == truth(b);
  else if constexpr (is_complex<T>)
    return a.re == b.re && a.im == b.im;
  else
    return a == b;
}

// Complex numbers are ordered by real part, then by imaginary part; a NaN in a part that decides makes it false.
template <class T>
[[gnu::always_inline]] inline bool less(T a, T b) {
  if constexpr (is_bool<T>)
    return !truth(a) && truth(b);
  else if constexpr (is_complex<T>)
    return (a.re < b.re && a.im == a.im && b.im == b.im) || (a.re == b.re && a.im < b.im);
  else
    return a < b;
}

template <class T>
[[gnu::always_inline]] inline bool less_equal(T a, T b) {
  if constexpr (is_bool<T>)
    return !truth(a) || truth(b);
  else if constexpr (is_complex<T>)
    return (a.re < b.re && a.im == a.im && b.im == b.im) || (a.re == b.re && a.im <= b.im);
  else
    return a <= b;
}

}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
