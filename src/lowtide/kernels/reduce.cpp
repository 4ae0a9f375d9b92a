#include "lowtide/kernels/reduce.h"

#include <cmath>
#include <cstring>

#include "lowtide/kernels/cast.h"
#include "lowtide/kernels/simd.h"
#include "lowtide/kernels/strips/builds.h"
#include "lowtide/kernels/strips/state.h"

namespace lowtide {
namespace {

bool is_complex(DType dtype) { return dtype == DType::complex64 || dtype == DType::complex128; }
bool is_float(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32 || dtype == DType::float64;
}
bool is_unsigned(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::uint16 || dtype == DType::uint32 || dtype == DType::uint64;
}

// As min, max, argmin and argmax hold elements of `in`.
DType held_dtype(DType in) {
  if (in == DType::float16) return DType::float32;
  return in == DType::bool_ ? DType::uint8 : in;
}

double rounded(const WideSum& sum) { return sum.high + sum.low; }

template <class Value>
void put(const Value& value, DType dtype, std::byte* out, DType out_dtype) {
  cast(reinterpret_cast<const std::byte*>(&value), dtype, out, out_dtype, 1);
}

void put_complex(double re, double im, std::byte* out, DType out_dtype) {
  const double parts[2] = {re, im};
  put(parts, DType::complex128, out, out_dtype);
}

void finish_total(Reduction reduction, DType in, const std::byte* state, std::byte* out, DType out_dtype) {
  if (is_complex(in) && reduction == Reduction::sum) {
    const auto& sum = *reinterpret_cast<const ComplexSum*>(state);
    put_complex(rounded(sum.re), rounded(sum.im), out, out_dtype);
  } else if (is_complex(in)) {
    const auto& product = *reinterpret_cast<const ComplexProduct*>(state);
    put_complex(product.re, product.im, out, out_dtype);
  } else if (is_float(in) && reduction == Reduction::sum) {
    put(rounded(*reinterpret_cast<const WideSum*>(state)), DType::float64, out, out_dtype);
  } else if (is_float(in)) {
    cast(state, DType::float64, out, out_dtype, 1);
  } else {
    cast(state, reduced_dtype(reduction, in), out, out_dtype, 1);
  }
}

double variance(double squares, std::int64_t count, const FinishOptions& options) {
  const double divisor = static_cast<double>(count) - options.correction;
  const double variance = squares / (divisor > 0 ? divisor : 0);
  return options.moment == FinishOptions::Moment::std ? std::sqrt(variance) : variance;
}

void finish_moment(DType in, const std::byte* state, std::byte* out, DType out_dtype, const FinishOptions& options) {
  const bool mean = options.moment == FinishOptions::Moment::mean;
  if (is_complex(in)) {
    const auto& moments = *reinterpret_cast<const MomentState<ComplexSum>*>(state);
    const auto count = static_cast<double>(moments.count);
    const double re = rounded(moments.sum.re), im = rounded(moments.sum.im);
    if (mean)  // NumPy divides by a complex count, so an infinite part makes the other NaN
      put_complex((re + im * 0) / count, (im - re * 0) / count, out, out_dtype);
    else
      put(variance(moments.squares, moments.count, options), DType::float64, out, out_dtype);
  } else {
    const auto& moments = *reinterpret_cast<const MomentState<WideSum>*>(state);
    put(mean ? rounded(moments.sum) / static_cast<double>(moments.count)
             : variance(moments.squares, moments.count, options),
        DType::float64, out, out_dtype);
  }
}

}  // namespace

DType reduced_dtype(Reduction reduction, DType in) {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::prod:
      if (is_float(in) || is_complex(in)) return in;
      return is_unsigned(in) ? DType::uint64 : DType::int64;
    case Reduction::min:
    case Reduction::max:
      return in;
    case Reduction::any:
    case Reduction::all:
      return DType::bool_;
    case Reduction::count_nonzero:
    case Reduction::argmin:
    case Reduction::argmax:
      return DType::int64;
    case Reduction::moments:
      break;
  }
  return is_float(in) || is_complex(in) ? in : DType::float64;
}

const ReduceKernel* reduce_kernel(Reduction reduction, DType in) { return reduce_kernel(reduction, in, best_simd()); }

const ReduceKernel* reduce_kernel(Reduction reduction, DType in, Simd simd) {
  switch (simd) {
#ifdef LOWTIDE_VARIANTS
    case Simd::avx512:
      return avx512::find(reduction, in);
    case Simd::avx2:
      return avx2::find(reduction, in);
#endif
    default:
      return baseline::find(reduction, in);
  }
}

void finish(Reduction reduction, DType in, const std::byte* states, std::size_t count, std::byte* out, DType out_dtype,
            const FinishOptions& options) {
  const std::size_t state_bytes = reduce_kernel(reduction, in)->state_bytes, out_bytes = itemsize(out_dtype);
  for (std::size_t i = 0; i < count; ++i, states += state_bytes, out += out_bytes) {
    switch (reduction) {
      case Reduction::sum:
      case Reduction::prod:
        finish_total(reduction, in, states, out, out_dtype);
        break;
      case Reduction::min:
      case Reduction::max:
        cast(states, held_dtype(in), out, out_dtype, 1);
        break;
      case Reduction::any:
      case Reduction::all:
        cast(states, DType::bool_, out, out_dtype, 1);
        break;
      case Reduction::count_nonzero:
        cast(states, DType::int64, out, out_dtype, 1);
        break;
      case Reduction::argmin:
      case Reduction::argmax:
        cast(states + state_bytes - sizeof(std::int64_t), DType::int64, out, out_dtype, 1);
        break;
      case Reduction::moments:
        finish_moment(in, states, out, out_dtype, options);
        break;
    }
  }
}

}  // namespace lowtide
