// lowtide/compute.h: products of matrices, as the sum that they are.
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lowtide/compute.h"
#include "lowtide/expr/promotion.h"

namespace lowtide {
namespace {

[[noreturn]] void refuse(const Array& a, const Array& b, std::int64_t columns, std::int64_t rows) {
  throw std::invalid_argument(
      a.ndim() == 0 || b.ndim() == 0
          ? "matmul: Input operand does not have enough dimensions"
          : fmt::format("matmul: Input operand 1 has a mismatch in its core dimension: {} columns times {} rows",
                        columns, rows));
}

}  // namespace

Array matmul(const Array& a, const Array& b) {
  if (a.ndim() == 0 || b.ndim() == 0) refuse(a, b, 0, 0);
  const std::int64_t columns = a.shape().back();
  const std::int64_t rows = b.ndim() == 1 ? b.shape()[0] : b.shape()[b.ndim() - 2];
  if (columns != rows) refuse(a, b, columns, rows);
  // (…, m, k, 1) times (…, 1, k, n), summed over k.
  const Array left = a.ndim() == 1 ? a.index({NewAxis{}, Slice{}, NewAxis{}}) : a.index({Ellipsis{}, NewAxis{}});
  const Array right =
      b.ndim() == 1 ? b.index({NewAxis{}, Slice{}, NewAxis{}}) : b.index({Ellipsis{}, NewAxis{}, Slice{}, Slice{}});
  const DType dtype = promote(a.dtype(), b.dtype());
  const bool truths = dtype == DType::bool_;
  const Array products = elementwise(truths ? "logical_and" : "multiply", {left, right});
  Array result = reduce(truths ? "any" : "sum", products, {.axes = Axes{-2}, .dtype = dtype});
  if (a.ndim() == 1) result = result.index({Ellipsis{}, std::int64_t{0}, Slice{}});
  if (b.ndim() == 1) result = result.index({Ellipsis{}, std::int64_t{0}});
  return result;
}

}  // namespace lowtide
