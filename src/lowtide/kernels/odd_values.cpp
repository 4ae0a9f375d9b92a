#include "lowtide/kernels/odd_values.h"

#include <cstring>

namespace lowtide {
namespace {

template <class Bits>
struct Tally {
  Bits infinity;  // the bits of +infinity: above them, sign aside, is NaN

  // Bits rather than floating point: one rule for all formats, and the loop vectorises.
  void count(const std::byte* data, std::uint64_t count, std::size_t parts, OddValues& odd) const {
    constexpr Bits magnitude = static_cast<Bits>(~Bits{0}) >> 1;
    std::uint64_t nans = 0, infs = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      bool nan = false, inf = false;
      for (std::size_t part = 0; part < parts; ++part) {
        Bits bits;
        std::memcpy(&bits, data + (i * parts + part) * sizeof(Bits), sizeof bits);
        bits &= magnitude;
        nan |= bits > infinity;
        inf |= bits == infinity;
      }
      nans += nan;
      infs += inf;
    }
    odd.nan_count += nans;
    odd.inf_count += infs;
  }
};

constexpr Tally<std::uint16_t> float16{0x7C00}, bfloat16{0x7F80};
constexpr Tally<std::uint32_t> float32{0x7F800000};
constexpr Tally<std::uint64_t> float64{0x7FF0000000000000};

}  // namespace

bool has_nan(DType dtype) { return dtype >= DType::float16; }

void OddValues::count(const std::byte* data, DType dtype, std::uint64_t n) {
  switch (dtype) {
    case DType::float16:
      return float16.count(data, n, 1, *this);
    case DType::bfloat16:
      return bfloat16.count(data, n, 1, *this);
    case DType::float32:
      return float32.count(data, n, 1, *this);
    case DType::float64:
      return float64.count(data, n, 1, *this);
    case DType::complex64:
      return float32.count(data, n, 2, *this);
    case DType::complex128:
      return float64.count(data, n, 2, *this);
    case DType::bool_:
      for (std::uint64_t i = 0; i < n; ++i) bad_bool_count += data[i] > std::byte{1};
      return;
    default:
      return;
  }
}

}  // namespace lowtide
