// lowtide/compute.h: arrays that are a function of where their elements are.
#include <array>
#include <cmath>
#include <numbers>

#include "lowtide/array/prepare.h"
#include "lowtide/compute.h"
#include "lowtide/error.h"
#include "lowtide/exec/array_node.h"
#include "lowtide/exec/generated_source.h"
#include "lowtide/kernels/cast.h"

namespace lowtide {
namespace {

// Values of one type, made some at a time and cast to the array's.
template <class T, class Value>
GeneratedSource::Fill cast_from(DType to, Value value) {
  return [to, value](const Progression& places, std::byte* out) {
    std::array<T, 512> values;
    for (std::int64_t i = 0; i < places.count; ++i)
      values[static_cast<std::size_t>(i)] = value(places.first + i * places.step);
    cast(reinterpret_cast<const std::byte*>(values.data()), dtype_of<T>, out, to,
         static_cast<std::size_t>(places.count));
  };
}

std::uint64_t wrapped(const Scalar& scalar) { return scalar.negative ? 0 - scalar.magnitude : scalar.magnitude; }

double real_value(const Scalar& scalar) {
  if (scalar.kind == Scalar::Kind::real || scalar.kind == Scalar::Kind::complex) return scalar.re;
  const auto magnitude = static_cast<double>(scalar.magnitude);
  return scalar.negative ? -magnitude : magnitude;
}

bool whole(const Scalar& scalar) {
  return scalar.kind == Scalar::Kind::integer || scalar.kind == Scalar::Kind::boolean;
}

// Philox 4x32-10 (Salmon and others, 2011): 128 random bits for every counter.
struct Philox {
  std::uint64_t key;
  std::array<std::uint64_t, 2> operator()(std::uint64_t counter) const {
    std::uint32_t c[4] = {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0};
    std::uint32_t k[2] = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0], b = std::uint64_t{0xCD9E8D57} * c[2];
      const std::uint32_t next[4] = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(b),
                                     static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(a)};
      std::copy(next, next + 4, c);
      k[0] += 0x9E3779B9;
      k[1] += 0xBB67AE85;
    }
    return {std::uint64_t{c[1]} << 32 | c[0], std::uint64_t{c[3]} << 32 | c[2]};
  }
};

double unit_interval(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

Array generated(Shape shape, DType dtype, std::string name, std::uint64_t stamp, GeneratedSource::Fill fill) {
  prepare_process();
  return array_of_source(
      std::make_shared<const GeneratedSource>(std::move(shape), dtype, std::move(name), stamp, std::move(fill)));
}

}  // namespace

Array arange(const Scalar& start, const Scalar& step, std::int64_t count, DType dtype) {
  if (whole(start) && whole(step)) {
    const std::uint64_t first = wrapped(start), each = wrapped(step);
    const auto value = [=](std::int64_t i) {
      return static_cast<std::int64_t>(first + each * static_cast<std::uint64_t>(i));
    };
    return generated({count}, dtype, "a range", first * 31 + each, cast_from<std::int64_t>(dtype, value));
  }
  const double first = real_value(start), each = real_value(step);
  const auto value = [=](std::int64_t i) { return first + static_cast<double>(i) * each; };
  return generated({count}, dtype, "a range", 0, cast_from<double>(dtype, value));
}

Array linspace(double start, double stop, std::int64_t count, bool endpoint, DType dtype) {
  const auto steps = static_cast<double>(endpoint ? count - 1 : count);
  const double step = steps > 0 ? (stop - start) / steps : 0;
  const auto value = [=](std::int64_t i) {
    if (endpoint && count > 1 && i == count - 1) return stop;
    const double x = start + static_cast<double>(i) * step;
    return dtype >= DType::int8 && dtype <= DType::uint64 ? std::floor(x) : x;
  };
  return generated({count}, dtype, "a range", 0, cast_from<double>(dtype, value));
}

Array random(std::string_view kind, const Shape& shape, std::uint64_t seed, DType dtype, double low, double high) {
  const Philox bits{seed};
  if (kind == "uniform") {
    const auto value = [=](std::int64_t i) {
      return low + (high - low) * unit_interval(bits(static_cast<std::uint64_t>(i))[0]);
    };
    return generated(shape, dtype, "random numbers", seed, cast_from<double>(dtype, value));
  }
  if (kind == "normal") {
    const auto value = [=](std::int64_t i) {
      const auto [a, b] = bits(static_cast<std::uint64_t>(i));
      const double radius = std::sqrt(-2 * std::log(1 - unit_interval(a)));
      return low + high * radius * std::cos(2 * std::numbers::pi * unit_interval(b));
    };
    return generated(shape, dtype, "random numbers", seed, cast_from<double>(dtype, value));
  }
  if (kind == "integers") {
    const auto first = static_cast<std::int64_t>(low);
    const auto range = static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - first);
    if (range == 0 || high <= low) throw std::invalid_argument("low >= high");
    const auto value = [=](std::int64_t i) {
      const std::uint64_t random = bits(static_cast<std::uint64_t>(i))[0];
      // The upper half of random * range: as even as 2^64 values can be dealt out.
      const std::uint64_t low_range = range & 0xFFFFFFFFu, high_range = range >> 32;
      const std::uint64_t low_bits = random & 0xFFFFFFFFu, high_bits = random >> 32;
      const std::uint64_t middle = high_bits * low_range + (low_bits * low_range >> 32);
      const std::uint64_t other = low_bits * high_range + (middle & 0xFFFFFFFFu);
      const std::uint64_t scaled = high_bits * high_range + (middle >> 32) + (other >> 32);
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + scaled);
    };
    return generated(shape, dtype, "random numbers", seed, cast_from<std::int64_t>(dtype, value));
  }
  throw UnsupportedError("random numbers are uniform, normal or integers");
}

}  // namespace lowtide
