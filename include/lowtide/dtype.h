// The element types an array can have.
//
//   DType t = parse_dtype("float32");     // also "f4", "<f4", ">i8" is an error here: byte order belongs to a layout
//   t == DType::float32; itemsize(t) == 4; name(t) == "float32";
//
// Thread-safe: pure functions.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lowtide {

enum class DType : std::uint8_t {
  bool_,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
};

inline constexpr std::size_t dtype_count = 15;

std::size_t itemsize(DType dtype);
std::size_t alignment(DType dtype);  // of an element: its size, or that of a complex number's part
// "bool", "int8", … "complex128": NumPy's names, and "bfloat16".
std::string_view name(DType dtype);
// Accepts names ("float32"), NumPy codes ("f4", "<f4", "|b1", "?") of native byte order.
// Throws UnsupportedError, listing what is supported, for anything else.
DType parse_dtype(std::string_view text);

template <class T>
inline constexpr bool is_dtype_v = false;
template <class T>
inline constexpr DType dtype_of = DType::bool_;

#define LOWTIDE_DTYPE_OF(type, value)            \
  template <>                                    \
  inline constexpr bool is_dtype_v<type> = true; \
  template <>                                    \
  inline constexpr DType dtype_of<type> = DType::value;
LOWTIDE_DTYPE_OF(bool, bool_)
LOWTIDE_DTYPE_OF(std::int8_t, int8)
LOWTIDE_DTYPE_OF(std::int16_t, int16)
LOWTIDE_DTYPE_OF(std::int32_t, int32)
LOWTIDE_DTYPE_OF(std::int64_t, int64)
LOWTIDE_DTYPE_OF(std::uint8_t, uint8)
LOWTIDE_DTYPE_OF(std::uint16_t, uint16)
LOWTIDE_DTYPE_OF(std::uint32_t, uint32)
LOWTIDE_DTYPE_OF(std::uint64_t, uint64)
LOWTIDE_DTYPE_OF(float, float32)
LOWTIDE_DTYPE_OF(double, float64)
LOWTIDE_DTYPE_OF(std::complex<float>, complex64)
LOWTIDE_DTYPE_OF(std::complex<double>, complex128)
#undef LOWTIDE_DTYPE_OF

}  // namespace lowtide
