// A lazy elementwise expression as a source: a box of it is a pass over boxes of its leaves.
//
//   auto source = std::make_shared<const ExpressionSource>(call(Op::sqrt, …));
//   Array y(source, source->whole(), false);
//
// Thread-safe. Blocks as Source does.
#pragma once

#include <memory>
#include <string>

#include "lowtide/expr/node.h"
#include "lowtide/source/source.h"

namespace lowtide {

class ExpressionSource final : public Source {
 public:
  explicit ExpressionSource(NodePtr root) : root_(std::move(root)) {}

  const Shape& shape() const override { return root_->shape; }
  DType dtype() const override { return root_->dtype; }
  std::string name() const override;
  Needs needs(std::span<Box> boxes) const override;
  Needs needs_of_any(std::int64_t size) const override;
  void read(std::span<const Box> boxes, Workspace& workspace) const override;
  std::unique_ptr<RowReader> row_reader(const Selection& selection, std::int64_t rows,
                                        Workspace& workspace) const override;
  std::uint64_t stamp() const override;
  using Source::needs;
  using Source::read;

  const NodePtr& root() const { return root_; }

 private:
  NodePtr root_;
};

// "x.npy and y.npy": what an expression is made of, the first few.
std::string names_of_leaves(const NodePtr& root);
// Of all leaves; throws DataChangedError if one has changed.
std::uint64_t stamp_of_leaves(const NodePtr& root);

}  // namespace lowtide
