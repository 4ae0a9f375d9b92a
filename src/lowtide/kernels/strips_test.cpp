// What holds for every operator, dtype and build: the three builds agree, in place and with scalars.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "lowtide/kernels/half.h"
#include "lowtide/kernels/strip_call.h"

namespace lowtide {
namespace {

using Bytes = std::vector<std::byte>;

// Half of the elements are random bits, the others small numbers; of bools any byte.
Bytes elements(DType dtype, std::size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count * itemsize(dtype));
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  const auto put = [&]<class T>(T, std::size_t parts) {
    for (std::size_t i = 0; i < count * parts; i += 2) {
      const T value = static_cast<T>(static_cast<int>(random() % 41) - 20);
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
  };
  switch (dtype) {
    case DType::float32:
      put(0.0f, 1);
      break;
    case DType::float64:
      put(0.0, 1);
      break;
    case DType::complex64:
      put(0.0f, 2);
      break;
    case DType::complex128:
      put(0.0, 2);
      break;
    case DType::int64:
    case DType::uint64:
      put(std::int64_t{0}, 1);
      break;
    default:
      break;
  }
  return bytes;
}

template <class T>
bool same_floats(const Bytes& a, const Bytes& b) {
  for (std::size_t i = 0; i + sizeof(T) <= a.size(); i += sizeof(T)) {
    T x, y;
    std::memcpy(&x, a.data() + i, sizeof x);
    std::memcpy(&y, b.data() + i, sizeof y);
    if (std::memcmp(&x, &y, sizeof x) != 0 && !(x != x && y != y)) return false;
  }
  return true;
}

// In bits, but any NaN is as good as another: which operand's it is, the compiler decides.
bool same(DType dtype, const Bytes& a, const Bytes& b) {
  switch (dtype) {
    case DType::float32:
    case DType::complex64:
      return same_floats<float>(a, b);
    case DType::float64:
    case DType::complex128:
      return same_floats<double>(a, b);
    case DType::float16:
      for (std::size_t i = 0; i < a.size(); i += 2) {
        Float16 x, y;
        std::memcpy(&x, a.data() + i, sizeof x);
        std::memcpy(&y, b.data() + i, sizeof y);
        if (x.bits != y.bits && !(std::isnan(to_float(x)) && std::isnan(to_float(y)))) return false;
      }
      return true;
    default:
      return a == b;
  }
}

// The functions whose last bits depend on the instruction set.
bool is_vector_function(Op op) {
  return (op >= Op::cbrt && op <= Op::atanh && op != Op::reciprocal) || op == Op::pow || op == Op::atan2 ||
         op == Op::logaddexp || op == Op::logaddexp2;
}

constexpr std::size_t count = 1003;

struct Case {
  Op op;
  DType in, out;
  std::vector<DType> dtypes;
  std::vector<Bytes> inputs;

  std::string name() const { return std::string(facts(op).name) + " of " + std::string(lowtide::name(in)); }
};

template <class Check>
void for_every_case(Check check) {
  for (std::size_t i = 0; i < op_count; ++i) {
    for (std::size_t j = 0; j < dtype_count; ++j) {
      const auto op = static_cast<Op>(i);
      const auto in = static_cast<DType>(j);
      const auto out = result_dtype(op, in);
      if (!out) continue;
      Case a{op, in, *out, {}, {}};
      for (int k = 0; k < facts(op).arity; ++k) {
        a.dtypes.push_back(op == Op::where && k == 0 ? DType::bool_ : in);
        a.inputs.push_back(elements(a.dtypes.back(), count, static_cast<unsigned>(k)));
      }
      check(a);
    }
  }
}

Bytes run(const Case& a, Simd simd, const std::vector<Bytes>& inputs, unsigned scalars, std::size_t n = count) {
  Bytes out(n * itemsize(a.out));
  StripArgs args{out.data(), {}, n, static_cast<std::uint8_t>(scalars)};
  for (std::size_t k = 0; k < inputs.size(); ++k) args.in[k] = inputs[k].data();
  strip_kernel(a.op, a.in, simd)(args);
  return out;
}

TEST(Strips, HaveTheSameBitsInEveryBuild) {
  for_every_case([](const Case& a) {
    if (is_vector_function(a.op)) return;
    const Bytes wanted = run(a, Simd::baseline, a.inputs, 0);
    for (const Simd simd : simds_here())
      EXPECT_TRUE(same(a.out, run(a, simd, a.inputs, 0), wanted)) << a.name() << ", simd " << static_cast<int>(simd);
  });
}

TEST(Strips, TakeAScalarForAStripOfItsCopies) {
  for_every_case([](const Case& a) {
    for (const Simd simd : simds_here()) {
      for (unsigned scalars = 1; scalars < 1u << a.inputs.size(); ++scalars) {
        std::vector<Bytes> ones = a.inputs, copies = a.inputs;
        for (std::size_t k = 0; k < ones.size(); ++k) {
          if ((scalars >> k & 1) == 0) continue;
          const std::size_t size = itemsize(a.dtypes[k]);
          ones[k].resize(size);
          ones[k].shrink_to_fit();
          for (std::size_t i = 0; i < count; ++i) std::memcpy(copies[k].data() + i * size, ones[k].data(), size);
        }
        EXPECT_TRUE(same(a.out, run(a, simd, ones, scalars), run(a, simd, copies, 0)))
            << a.name() << ", scalars " << scalars << ", simd " << static_cast<int>(simd);
      }
    }
  });
}

TEST(Strips, WorkInPlaceOfAnInput) {
  for_every_case([](const Case& a) {
    for (const Simd simd : simds_here()) {
      const Bytes wanted = run(a, simd, a.inputs, 0);
      for (std::size_t k = 0; k < a.inputs.size(); ++k) {
        if (itemsize(a.dtypes[k]) != itemsize(a.out)) continue;
        std::vector<Bytes> inputs = a.inputs;
        StripArgs args{inputs[k].data(), {}, count, 0};
        for (std::size_t i = 0; i < inputs.size(); ++i) args.in[i] = inputs[i].data();
        strip_kernel(a.op, a.in, simd)(args);
        EXPECT_TRUE(same(a.out, inputs[k], wanted)) << a.name() << " in " << k << ", simd " << static_cast<int>(simd);
      }
    }
  });
}

TEST(Strips, OfAnyLengthTouchNoMoreThanTheirElements) {
  for_every_case([](const Case& a) {
    for (const Simd simd : simds_here()) {
      const Bytes wanted = run(a, simd, a.inputs, 0);
      for (const std::size_t n : {0, 1, 7, 15, 33}) {
        std::vector<Bytes> inputs;
        for (std::size_t k = 0; k < a.inputs.size(); ++k)
          inputs.emplace_back(a.inputs[k].begin(),
                              a.inputs[k].begin() + static_cast<std::ptrdiff_t>(n * itemsize(a.dtypes[k])));
        const auto size = static_cast<std::ptrdiff_t>(n * itemsize(a.out));
        EXPECT_TRUE(same(a.out, run(a, simd, inputs, 0, n), Bytes(wanted.begin(), wanted.begin() + size)))
            << a.name() << ", simd " << static_cast<int>(simd) << ", " << n;
      }
    }
  });
}

}  // namespace
}  // namespace lowtide
