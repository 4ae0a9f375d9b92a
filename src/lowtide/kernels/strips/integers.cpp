#include "lowtide/kernels/strips/families.h"
#include "lowtide/kernels/strips/loop.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

template <class T>
constexpr bool is_signed = std::is_signed_v<T>;

// Division by -1 is negation, which wraps; idiv would trap on the least value.
template <class T>
bool is_minus_one(T x) {
  return is_signed<T> && x == static_cast<T>(-1);
}

struct FloorDivide {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return 0;
    if (is_minus_one(b)) return static_cast<T>(0 - modular(a));
    const T quotient = static_cast<T>(a / b);
    return is_signed<T> && (a < 0) != (b < 0) && quotient * b != a ? static_cast<T>(quotient - 1) : quotient;
  }
};

struct Remainder {
  template <class T>
  static T of(T a, T b) {
    if (b == 0 || is_minus_one(b)) return 0;
    const T rest = static_cast<T>(a % b);
    return is_signed<T> && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
};

struct Fmod {
  template <class T>
  static T of(T a, T b) {
    return b == 0 || is_minus_one(b) ? T(0) : static_cast<T>(a % b);
  }
};

struct Pow {
  template <class T>
  static T of(T base, T exponent) {
    using Unsigned = std::make_unsigned_t<T>;
    Modular<T> result = 1, square = modular(base);
    for (auto left = static_cast<Unsigned>(exponent); left != 0; left = static_cast<Unsigned>(left >> 1)) {
      if (left & 1) result *= square;
      square *= square;
    }
    return static_cast<T>(result);
  }
};

template <class T>
std::make_unsigned_t<T> unsigned_magnitude(T x) {
  return static_cast<std::make_unsigned_t<T>>(x < 0 ? 0 - modular(x) : modular(x));
}

template <class Unsigned>
Unsigned greatest_divisor(Unsigned a, Unsigned b) {
  while (a != 0) {
    const auto rest = static_cast<Unsigned>(b % a);
    b = a;
    a = rest;
  }
  return b;
}

struct Gcd {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(greatest_divisor(unsigned_magnitude(a), unsigned_magnitude(b)));
  }
};

struct Lcm {
  template <class T>
  static T of(T a, T b) {
    const auto x = unsigned_magnitude(a), y = unsigned_magnitude(b);
    const auto divisor = greatest_divisor(x, y);
    return divisor == 0 ? T(0) : static_cast<T>(static_cast<Modular<T>>(x / divisor) * static_cast<Modular<T>>(y));
  }
};

struct And {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_bool<T>)
      return {static_cast<std::uint8_t>(truth(a) & truth(b))};
    else
      return static_cast<T>(a & b);
  }
};

struct Or {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_bool<T>)
      return {static_cast<std::uint8_t>(truth(a) | truth(b))};
    else
      return static_cast<T>(a | b);
  }
};

struct Xor {
  template <class T>
  static T of(T a, T b) {
    if constexpr (is_bool<T>)
      return {static_cast<std::uint8_t>(truth(a) ^ truth(b))};
    else
      return static_cast<T>(a ^ b);
  }
};

struct Invert {
  template <class T>
  static T of(T x) {
    if constexpr (is_bool<T>)
      return {static_cast<std::uint8_t>(!truth(x))};
    else
      return static_cast<T>(~x);
  }
};

// A negative count is a huge unsigned one.
template <class T>
bool within_width(T count) {
  return static_cast<std::make_unsigned_t<T>>(count) < sizeof(T) * 8;
}

struct LeftShift {
  template <class T>
  static T of(T x, T count) {
    const bool within = within_width(count);
    const auto shifted = static_cast<T>(modular(x) << (within ? modular(count) : 0));
    return within ? shifted : T(0);
  }
};

struct RightShift {
  template <class T>
  static T of(T x, T count) {
    constexpr T most = sizeof(T) * 8 - 1;
    const bool within = within_width(count);
    const auto shifted = static_cast<T>(x >> (within ? count : most));
    return within || is_signed<T> ? shifted : T(0);
  }
};

struct CountBits {
  template <class T>
  static std::uint8_t of(T x) {
    const auto bits = unsigned_magnitude(x);
    if constexpr (sizeof(T) == 8)
      return static_cast<std::uint8_t>(__builtin_popcountll(bits));
    else
      return static_cast<std::uint8_t>(__builtin_popcount(bits));
  }
};

}  // namespace

StripKernel integers(Op op, DType in) {
  switch (op) {
    case Op::floor_divide:
      return pick<FloorDivide, Binary, Integers>(in);
    case Op::remainder:
      return pick<Remainder, Binary, Integers>(in);
    case Op::fmod:
      return pick<Fmod, Binary, Integers>(in);
    case Op::pow:
      return pick<Pow, Binary, Integers>(in);
    case Op::gcd:
      return pick<Gcd, Binary, Integers>(in);
    case Op::lcm:
      return pick<Lcm, Binary, Integers>(in);
    case Op::bitwise_and:
      return pick<And, Binary, Bools, Integers>(in);
    case Op::bitwise_or:
      return pick<Or, Binary, Bools, Integers>(in);
    case Op::bitwise_xor:
      return pick<Xor, Binary, Bools, Integers>(in);
    case Op::bitwise_invert:
      return pick<Invert, Unary, Bools, Integers>(in);
    case Op::bitwise_left_shift:
      return pick<LeftShift, Binary, Integers>(in);
    case Op::bitwise_right_shift:
      return pick<RightShift, Binary, Integers>(in);
    case Op::bitwise_count:
      return pick<CountBits, Unary, Integers>(in);
    default:
      return nullptr;
  }
}

}  // namespace lowtide::LOWTIDE_ARCH
