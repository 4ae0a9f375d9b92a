#include "lowtide/kernels/strips/families.h"
#include "lowtide/kernels/strips/loop.h"

namespace lowtide::LOWTIDE_ARCH {
namespace {

struct Equal {
  template <class T>
  static Bool of(T a, T b) {
    return {equal(a, b)};
  }
};
struct NotEqual {
  template <class T>
  static Bool of(T a, T b) {
    return {!equal(a, b)};
  }
};
struct Less {
  template <class T>
  static Bool of(T a, T b) {
    return {less(a, b)};
  }
};
struct LessEqual {
  template <class T>
  static Bool of(T a, T b) {
    return {less_equal(a, b)};
  }
};
struct Greater {
  template <class T>
  static Bool of(T a, T b) {
    return {less(b, a)};
  }
};
struct GreaterEqual {
  template <class T>
  static Bool of(T a, T b) {
    return {less_equal(b, a)};
  }
};

template <class F>
StripKernel any_dtype(DType in) {
  return pick<F, Binary, Bools, Integers, Floats, Complexes>(in);
}

}  // namespace

StripKernel comparison(Op op, DType in) {
  switch (op) {
    case Op::equal:
      return any_dtype<Equal>(in);
    case Op::not_equal:
      return any_dtype<NotEqual>(in);
    case Op::less:
      return any_dtype<Less>(in);
    case Op::less_equal:
      return any_dtype<LessEqual>(in);
    case Op::greater:
      return any_dtype<Greater>(in);
    case Op::greater_equal:
      return any_dtype<GreaterEqual>(in);
    default:
      return nullptr;
  }
}

}  // namespace lowtide::LOWTIDE_ARCH
