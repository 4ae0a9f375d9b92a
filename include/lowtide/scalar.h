// A number that is no array: it takes the dtype of the array that it meets, as in NumPy 2.
//
//   lowtide::Array y = a * 2 + 0.5;        // float32 stays float32
//
// Plain data.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

namespace lowtide {

struct Scalar {
  enum class Kind : std::uint8_t { boolean, integer, real, complex };
  Kind kind = Kind::integer;
  std::uint64_t magnitude = 0;  // of a boolean or an integer
  bool negative = false;
  double re = 0, im = 0;  // of the others

  Scalar() = default;
  template <class T>
    requires std::is_arithmetic_v<T>
  Scalar(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      kind = Kind::boolean;
      magnitude = value ? 1 : 0;
    } else if constexpr (std::is_integral_v<T>) {
      negative = value < T{};
      magnitude = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    } else {
      kind = Kind::real;
      re = static_cast<double>(value);
    }
  }
  Scalar(std::complex<double> value) : kind(Kind::complex), re(value.real()), im(value.imag()) {}
};

}  // namespace lowtide
