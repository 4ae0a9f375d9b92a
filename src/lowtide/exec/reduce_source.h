// A reduction of an expression as a source: a box of it is a pass over the elements that it is made of, and over no others.
//
//   ReduceSource mean(root, {0}, {.reduction = Reduction::moments, .finish = {Moment::mean}, .dtype = DType::float64});
//
// Thread-safe. Blocks as Source does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lowtide/expr/node.h"
#include "lowtide/kernels/reduce.h"
#include "lowtide/source/source.h"

namespace lowtide {

// What is reduced, and what becomes of the accumulators.
struct ReduceSpec {
  std::string name;  // "mean"
  Reduction reduction{};
  FinishOptions finish{};
  DType dtype{};  // of the result
};

class ReduceSource final : public Source {
 public:
  // axes: of the expression, ascending; they are not in the result.
  ReduceSource(NodePtr root, std::vector<std::size_t> axes, ReduceSpec spec);

  const Shape& shape() const override { return shape_; }
  DType dtype() const override { return spec_.dtype; }
  std::string name() const override;
  Needs needs(std::span<Box> boxes) const override;
  Needs needs_of_any(std::int64_t size) const override;
  void read(std::span<const Box> boxes, Workspace& workspace) const override;
  std::uint64_t stamp() const override;
  using Source::needs;
  using Source::read;

  const NodePtr& root() const { return root_; }
  const std::vector<std::size_t>& axes() const { return axes_; }
  const ReduceSpec& spec() const { return spec_; }
  // What a selection of the result is made of: its own axes, then the reduced ones.
  Selection elements_of(const Selection& result) const;

 private:
  NodePtr root_;
  std::vector<std::size_t> axes_;
  std::vector<std::size_t> kept_;
  Shape shape_;
  ReduceSpec spec_;
};

}  // namespace lowtide
