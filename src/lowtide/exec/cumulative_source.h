// Sums or products up to each element along an axis, as a source: a box is a pass over all that comes before it along the axis.
//
//   CumulativeSource sums(root, 0, Op::add);
//
// Thread-safe. Blocks as Source does.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "lowtide/expr/node.h"
#include "lowtide/source/source.h"

namespace lowtide {

class CumulativeSource final : public Source {
 public:
  // REQUIRES: the operator is add or multiply.
  CumulativeSource(NodePtr root, std::size_t axis, Op op) : root_(std::move(root)), axis_(axis), op_(op) {}

  const Shape& shape() const override { return root_->shape; }
  DType dtype() const override { return root_->dtype; }
  std::string name() const override;
  Needs needs(std::span<Box> boxes) const override;
  Needs needs_of_any(std::int64_t size) const override;
  void read(std::span<const Box> boxes, Workspace& workspace) const override;
  std::uint64_t stamp() const override;
  using Source::needs;
  using Source::read;

 private:
  void read_box(const Selection& elements, const std::vector<std::int64_t>& strides, std::byte* memory,
                Workspace& workspace) const;

  NodePtr root_;
  std::size_t axis_;
  Op op_;
};

}  // namespace lowtide
