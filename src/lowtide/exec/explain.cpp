// lowtide::explain: what computing arrays would take. Nothing is read.
#include <algorithm>
#include <numeric>

#include "lowtide/compute.h"
#include "lowtide/exec/expression_source.h"
#include "lowtide/exec/reduce_source.h"
#include "lowtide/expr/program.h"
#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

// Bytes that are really there: what is broadcast counts once.
std::uint64_t stored_bytes(const ProgramOperand& operand) {
  std::uint64_t bytes = itemsize(operand.dtype);
  for (std::size_t i = 0; i < operand.selection.ndim(); ++i) {
    if (operand.selection.depends_on(i)) bytes *= static_cast<std::uint64_t>(operand.selection.axes()[i].extent);
  }
  return bytes;
}

class Explainer {
 public:
  explicit Explainer(Explanation& to) : to_(to) {}

  void array(const Source& source, const Selection& selection) {
    if (const auto* expression = dynamic_cast<const ExpressionSource*>(&source)) {
      pass("map", make_program({&expression->root(), 1}, source.shape(), &selection));
    } else if (const auto* reduction = dynamic_cast<const ReduceSource*>(&source)) {
      const Selection elements = reduction->elements_of(selection);
      pass(reduction->spec().name, make_program({&reduction->root(), 1}, reduction->root()->shape, &elements));
    } else {
      Explanation::Pass read{.what = "read", .space = selection.shape(), .reads = {source.name()}, .program = {}};
      if (source.in_one_file() != nullptr)
        read.read_bytes = static_cast<std::uint64_t>(selection.size()) * itemsize(source.dtype());
      to_.read_bytes += read.read_bytes;
      to_.passes.push_back(std::move(read));
    }
  }

 private:
  void pass(std::string what, const Program& program) {
    Explanation::Pass made{.what = std::move(what), .space = program.space, .reads = {}, .program = program.text()};
    for (const ProgramOperand& operand : program.operands) {
      // What is itself computed comes first.
      const bool computed = dynamic_cast<const ReduceSource*>(operand.source.get()) != nullptr ||
                            dynamic_cast<const ExpressionSource*>(operand.source.get()) != nullptr;
      if (computed) array(*operand.source, operand.source->whole());
      made.reads.push_back(operand.source->name());
      if (operand.source->in_one_file() != nullptr) made.read_bytes += stored_bytes(operand);
    }
    to_.read_bytes += made.read_bytes;
    to_.passes.push_back(std::move(made));
  }

  Explanation& to_;
};

}  // namespace

Explanation explain(std::span<const Array> arrays) {
  Explanation all;
  for (const Array& array : arrays) {
    Explainer(all).array(*array.source(), array.selection());
    const std::uint64_t result = round_up(array.size_bytes(), page_bytes);
    Box box = Box::dense(array.selection(), itemsize(array.dtype()));
    const Needs needs = array.source()->needs(box);
    all.result_bytes += result;
    all.least_bytes = std::max(all.least_bytes, needs.least_bytes);
    all.peak_bytes = std::max(all.peak_bytes, needs.most_bytes);
    all.stream_bytes = std::max(all.stream_bytes, array.least_budget_bytes());
  }
  all.least_bytes += all.result_bytes;
  all.peak_bytes += all.result_bytes;
  return all;
}

}  // namespace lowtide
