// lowtide/compute.h: what builds lazy arrays. None of it reads.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "lowtide/array/prepare.h"
#include "lowtide/compute.h"
#include "lowtide/error.h"
#include "lowtide/exec/array_node.h"
#include "lowtide/exec/cumulative_source.h"
#include "lowtide/exec/reduce_source.h"
#include "lowtide/source/memory_source.h"

namespace lowtide {
namespace {

struct NamedReduction {
  std::string_view name;
  Reduction reduction;
  FinishOptions::Moment moment;
};
constexpr NamedReduction reductions[] = {
    {"sum", Reduction::sum, {}},
    {"prod", Reduction::prod, {}},
    {"min", Reduction::min, {}},
    {"max", Reduction::max, {}},
    {"any", Reduction::any, {}},
    {"all", Reduction::all, {}},
    {"count_nonzero", Reduction::count_nonzero, {}},
    {"argmin", Reduction::argmin, {}},
    {"argmax", Reduction::argmax, {}},
    {"mean", Reduction::moments, FinishOptions::Moment::mean},
    {"var", Reduction::moments, FinishOptions::Moment::var},
    {"std", Reduction::moments, FinishOptions::Moment::std},
};

std::vector<std::size_t> normalised_axes(const ReduceOptions& options, std::size_t ndim) {
  std::vector<std::size_t> axes(ndim);
  std::iota(axes.begin(), axes.end(), 0);
  if (!options.axes) return axes;
  axes.clear();
  for (const std::int64_t axis : *options.axes) {
    const auto count = static_cast<std::int64_t>(ndim);
    if (axis < -count || axis >= count)
      throw std::out_of_range(fmt::format("axis {} is out of bounds for array of dimension {}", axis, ndim));
    axes.push_back(static_cast<std::size_t>(axis < 0 ? axis + count : axis));
  }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) throw std::invalid_argument("duplicate value in 'axis'");
  return axes;
}

DType result_of(const NamedReduction& named, DType in) {
  const DType dtype = reduced_dtype(named.reduction, in);
  const bool real = named.reduction == Reduction::moments && named.moment != FinishOptions::Moment::mean;
  return real ? real_dtype(dtype) : dtype;
}

void refuse_nothing(const NamedReduction& named, const Array& a, const std::vector<std::size_t>& axes) {
  const bool arg = named.reduction == Reduction::argmin || named.reduction == Reduction::argmax;
  if (!arg && named.reduction != Reduction::min && named.reduction != Reduction::max) return;
  const Shape shape = a.shape();
  const bool none = std::ranges::any_of(axes, [&](std::size_t axis) { return shape[axis] == 0; });
  // Where the result is empty, too, nothing is missing.
  const bool empty = [&] {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 0 && std::ranges::count(axes, i) == 0) return true;
    }
    return false;
  }();
  if (!none || (empty && !arg)) return;
  if (arg) throw std::invalid_argument(fmt::format("attempt to get {} of an empty sequence", named.name));
  throw std::invalid_argument(
      fmt::format("zero-size array to reduction operation {}imum which has no identity", named.name));
}

}  // namespace

Array elementwise(std::string_view name, std::span<const Term> terms) {
  const std::optional<Op> op = op_named(name);
  if (!op) throw UnsupportedError(fmt::format("{} is no elementwise operator of lowtide", name));
  if (static_cast<int>(terms.size()) != facts(*op).arity) {
    throw std::invalid_argument(
        fmt::format("{}() takes {} arguments, {} were given", name, facts(*op).arity, terms.size()));
  }
  std::vector<Argument> arguments;
  for (const Term& term : terms) {
    if (const auto* array = std::get_if<Array>(&term)) {
      arguments.push_back({node_of(*array), {}});
    } else {
      arguments.push_back({nullptr, std::get<Scalar>(term)});
    }
  }
  return array_of(call(*op, arguments));
}

Array elementwise(std::string_view name, std::initializer_list<Term> terms) {
  return elementwise(name, std::span(terms.begin(), terms.size()));
}

Array astype(const Array& a, DType dtype) { return a.dtype() == dtype ? a : array_of(cast_to(node_of(a), dtype)); }

DType result_type(std::span<const std::variant<DType, Scalar>> terms) {
  std::vector<Argument> arguments;
  for (const auto& term : terms) {
    if (const auto* dtype = std::get_if<DType>(&term)) {
      arguments.push_back({constant(Scalar(0), *dtype), {}});
    } else {
      arguments.push_back({nullptr, std::get<Scalar>(term)});
    }
  }
  return result_type(arguments);
}

Array reduce(std::string_view name, const Array& a, const ReduceOptions& options) {
  const auto* named = std::ranges::find(reductions, name, &NamedReduction::name);
  if (named == std::end(reductions)) throw UnsupportedError(fmt::format("{} is no reduction of lowtide", name));
  const std::vector<std::size_t> axes = normalised_axes(options, a.ndim());
  refuse_nothing(*named, a, axes);
  NodePtr root = node_of(a);
  if (options.dtype && named->reduction != Reduction::any && named->reduction != Reduction::all)
    root = cast_to(std::move(root), *options.dtype);
  if (reduce_kernel(named->reduction, root->dtype) == nullptr)
    throw TypeError(fmt::format("{} is not defined for {}", name, lowtide::name(root->dtype)));
  ReduceSpec spec{
      std::string(name), named->reduction, {named->moment, options.correction}, result_of(*named, root->dtype)};
  if (options.dtype && (named->reduction == Reduction::sum || named->reduction == Reduction::prod))
    spec.dtype = *options.dtype;
  Array result = array_of_source(std::make_shared<const ReduceSource>(std::move(root), axes, std::move(spec)));
  if (!options.keepdims) return result;
  std::vector<Index> indices;
  for (std::size_t i = 0; i < a.ndim(); ++i) {
    if (std::ranges::count(axes, i) > 0) {
      indices.emplace_back(NewAxis{});
    } else {
      indices.emplace_back(Slice{});
    }
  }
  return result.index(indices);
}

Array cumulative(std::string_view name, const Array& a, std::int64_t axis, std::optional<DType> dtype) {
  const ReduceOptions one{.axes = std::vector<std::int64_t>{axis}};
  const std::size_t along = normalised_axes(one, a.ndim()).at(0);
  const bool sums = name == "sum";
  if (!sums && name != "prod") throw UnsupportedError(fmt::format("cumulative {}: there are sum and prod", name));
  const DType to = dtype.value_or(reduced_dtype(sums ? Reduction::sum : Reduction::prod, a.dtype()));
  const Op op = sums ? Op::add : Op::multiply;
  operands_dtype(op, to);
  return array_of_source(std::make_shared<const CumulativeSource>(cast_to(node_of(a), to), along, op));
}

Array broadcast_to(const Array& a, const Shape& shape) { return a.with(a.selection().broadcast(shape)); }

Array full(const Shape& shape, const Scalar& value, DType dtype) {
  prepare_process();
  struct alignas(16) Element {
    std::array<std::byte, 16> bytes;
  };
  auto element_of = std::make_shared<Element>(element(value, dtype));
  const std::byte* data = element_of->bytes.data();
  const Array one = array_of_source(std::make_shared<const MemorySource>(data, Shape{}, std::vector<std::int64_t>{},
                                                                         dtype, native_endian, std::move(element_of)));
  return broadcast_to(one, shape);
}

Array from_memory(const ConstView& view, std::shared_ptr<const void> owner) {
  prepare_process();
  return array_of_source(std::make_shared<const MemorySource>(view.data, view.shape, view.strides_bytes, view.dtype,
                                                              view.endian, std::move(owner)));
}

}  // namespace lowtide
