// The least or greatest of a run. NaN, once met, stays.
#pragma once

#include "lowtide/kernels/strips/element.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

// What any element replaces or equals.
template <class Value, bool greatest>
constexpr Value least_wanted() {
  if constexpr (is_complex<Value>) {
    using Part = decltype(Value::re);
    return {least_wanted<Part, greatest>(), least_wanted<Part, greatest>()};
  } else if constexpr (is_real_float<Value>) {
    return greatest ? -Value(__builtin_inf()) : Value(__builtin_inf());
  } else {
    using Unsigned = std::make_unsigned_t<Value>;
    constexpr auto high = static_cast<Unsigned>(std::is_signed_v<Value> ? Unsigned(-1) >> 1 : Unsigned(-1));
    return greatest ? static_cast<Value>(static_cast<Unsigned>(~high)) : static_cast<Value>(high);
  }
}

template <bool greatest, class Value>
[[gnu::always_inline]] inline bool beats(const Value& x, const Value& best) {
  return greatest ? less(best, x) : less(x, best);
}

template <bool greatest, class Value>
[[gnu::always_inline]] inline void choose(Value& best, const Value& x) {
  if constexpr (is_complex<Value>)
    best = !is_nan(best) && (beats<greatest>(x, best) || is_nan(x)) ? x : best;
  else
    best = beats<greatest>(x, best) || is_nan(x) ? x : best;
}

template <bool greatest, class Value>
[[gnu::always_inline]] inline Value extreme_of_floats(const Value* x, std::size_t count) {
  typedef Value Vector __attribute__((vector_size(LOWTIDE_REGISTER_BYTES)));
  // 256 bytes of lanes in all, so that of 0.0 and -0.0 every build finds the same.
  constexpr std::size_t width = LOWTIDE_REGISTER_BYTES / sizeof(Value), chain_count = 256 / LOWTIDE_REGISTER_BYTES;
  const Value identity = least_wanted<Value, greatest>();
  Vector best[chain_count];
  for (auto& chain : best)
    for (std::size_t k = 0; k < width; ++k) chain[k] = identity;
  std::size_t i = 0;
  for (; i + width * chain_count <= count; i += width * chain_count) {
    for (std::size_t c = 0; c < chain_count; ++c) {
      Vector v;
      __builtin_memcpy(&v, x + i + c * width, sizeof v);
      best[c] = ((greatest ? v > best[c] : v < best[c]) | (v != v)) ? v : best[c];
    }
  }
  Value result = identity;
  for (const auto& chain : best)
    for (std::size_t k = 0; k < width; ++k) choose<greatest>(result, Value(chain[k]));
  for (; i < count; ++i) choose<greatest>(result, x[i]);
  return result;
}

template <bool greatest, class Value>
[[gnu::noinline]] Value extreme(const Value* x, std::size_t count) {
  if constexpr (is_real_float<Value>) {
    return extreme_of_floats<greatest>(x, count);
  } else {
    Value result = least_wanted<Value, greatest>();
    for (std::size_t i = 0; i < count; ++i) choose<greatest>(result, x[i]);
    return result;
  }
}

}  // namespace
}  // namespace lowtide::LOWTIDE_ARCH
