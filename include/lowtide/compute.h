// Lazy arithmetic on arrays: nothing is read until a result is asked for, and then in as few passes as there can be.
//
//   lowtide::Array y = sqrt(a) * 2.0f + 1.0f;               // an Array like any other: index it, save it, stream its blocks
//   lowtide::save("y.npy", y);
//   std::vector<float> m = mean(a, {0}).read().to_vector<float>();
//   auto [low, high] = …compute(std::array{min(a), max(a)})  // one pass
//
// Shapes broadcast and dtypes promote as in NumPy 2; a C++ number takes the array's dtype. Errors have NumPy's words: std::invalid_argument
// for shapes, TypeError for dtypes.
//
// Thread-safe. Building never blocks; compute() reads, within the budget, and can be interrupted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lowtide/array.h"
#include "lowtide/scalar.h"

namespace lowtide {

using Term = std::variant<Array, Scalar>;
using Axes = std::vector<std::int64_t>;

// An elementwise operator by its array API or NumPy name: "add", "sqrt", "where", "logaddexp". One term at least is an Array.
Array elementwise(std::string_view name, std::span<const Term> terms);
Array elementwise(std::string_view name, std::initializer_list<Term> terms);
Array astype(const Array& a, DType dtype);
DType result_type(std::span<const std::variant<DType, Scalar>> terms);

struct ReduceOptions {
  std::optional<Axes> axes = {};  // all of them
  bool keepdims = false;
  std::optional<DType> dtype = {};  // elements are cast to it first
  double correction = 0;            // of var and std
};
// sum, prod, min, max, any, all, count_nonzero, mean, var, std, argmin, argmax.
Array reduce(std::string_view name, const Array& a, const ReduceOptions& options = {});

// Running sums ("sum") or products ("prod") along an axis.
Array cumulative(std::string_view name, const Array& a, std::int64_t axis, std::optional<DType> dtype = {});
Array matmul(const Array& a, const Array& b);  // NumPy's, stacks of matrices included

Array broadcast_to(const Array& a, const Shape& shape);
Array reshape(const Array& a, const Shape& shape);  // C order
Array concat(std::span<const Array> arrays, std::int64_t axis = 0);

Array full(const Shape& shape, const Scalar& value, DType dtype);
// start, start + step, …
Array arange(const Scalar& start, const Scalar& step, std::int64_t count, DType dtype);
Array linspace(double start, double stop, std::int64_t count, bool endpoint, DType dtype);
// "uniform" in [low, high), "normal" of mean low and deviation high, "integers" in [low, high). An element depends on the seed and its place
// alone.
Array random(std::string_view kind, const Shape& shape, std::uint64_t seed, DType dtype, double low, double high);
// Elements of the caller's; `owner` is kept as long as they are used.
Array from_memory(const ConstView& view, std::shared_ptr<const void> owner);

// Several results at once: what they have in common is read once.
std::vector<Buffer> compute(std::span<const Array> arrays);

// What computing arrays takes: memory for results and working memory together, bytes to read, and every pass with its program.
struct Explanation {
  std::uint64_t least_bytes = 0;   // the smallest budget in which compute() runs
  std::uint64_t stream_bytes = 0;  // the smallest in which save() and blocks() do
  std::uint64_t peak_bytes = 0;    // what compute() takes where the budget allows it
  std::uint64_t read_bytes = 0, result_bytes = 0;
  struct Pass {
    std::string what;  // "map", "mean", …
    Shape space;
    std::vector<std::string> reads, program;
    std::uint64_t read_bytes = 0;
  };
  std::vector<Pass> passes;
};
Explanation explain(std::span<const Array> arrays);

#define LOWTIDE_OPERATOR(symbol, name)                                                                \
  inline Array operator symbol(const Array& a, const Array& b) { return elementwise(name, {a, b}); }  \
  inline Array operator symbol(const Array& a, const Scalar& b) { return elementwise(name, {a, b}); } \
  inline Array operator symbol(const Scalar& a, const Array& b) { return elementwise(name, {a, b}); }
LOWTIDE_OPERATOR(+, "add")
LOWTIDE_OPERATOR(-, "subtract")
LOWTIDE_OPERATOR(*, "multiply")
LOWTIDE_OPERATOR(/, "divide")
LOWTIDE_OPERATOR(<, "less")
LOWTIDE_OPERATOR(<=, "less_equal")
LOWTIDE_OPERATOR(>, "greater")
LOWTIDE_OPERATOR(>=, "greater_equal")
#undef LOWTIDE_OPERATOR
inline Array operator-(const Array& a) { return elementwise("negative", {a}); }

#define LOWTIDE_FUNCTION(name) \
  inline Array name(const Array& a) { return elementwise(#name, {a}); }
LOWTIDE_FUNCTION(abs)
LOWTIDE_FUNCTION(sqrt)
LOWTIDE_FUNCTION(square)
LOWTIDE_FUNCTION(exp)
LOWTIDE_FUNCTION(log)
LOWTIDE_FUNCTION(sin)
LOWTIDE_FUNCTION(cos)
LOWTIDE_FUNCTION(tan)
LOWTIDE_FUNCTION(tanh)
LOWTIDE_FUNCTION(floor)
LOWTIDE_FUNCTION(ceil)
LOWTIDE_FUNCTION(isnan)
#undef LOWTIDE_FUNCTION

#define LOWTIDE_REDUCTION(name)                                  \
  inline Array name(const Array& a) { return reduce(#name, a); } \
  inline Array name(const Array& a, const Axes& axes) { return reduce(#name, a, {.axes = axes}); }
LOWTIDE_REDUCTION(sum)
LOWTIDE_REDUCTION(prod)
LOWTIDE_REDUCTION(min)
LOWTIDE_REDUCTION(max)
LOWTIDE_REDUCTION(mean)
LOWTIDE_REDUCTION(var)

LOWTIDE_REDUCTION(any)
LOWTIDE_REDUCTION(all)
#undef LOWTIDE_REDUCTION

}  // namespace lowtide
