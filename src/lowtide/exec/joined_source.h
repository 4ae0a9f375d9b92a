// Sources that rearrange others: several one after the other along an axis, and one in another shape.
//
// A box is read as boxes of what it is made of, by whatever way those are read.
//
// Thread-safe. Blocks as Source does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lowtide/array.h"
#include "lowtide/source/source.h"

namespace lowtide {

class JoinedSource final : public Source {
 public:
  // REQUIRES: one dtype, shapes that differ along the axis alone.
  JoinedSource(std::vector<Array> parts, std::size_t axis);

  const Shape& shape() const override { return shape_; }
  DType dtype() const override { return parts_[0].dtype(); }
  std::string name() const override { return parts_[0].path() + " and others"; }
  Needs needs(std::span<Box> boxes) const override;
  Needs needs_of_any(std::int64_t size) const override;
  void read(std::span<const Box> boxes, Workspace& workspace) const override;
  std::uint64_t stamp() const override;
  using Source::needs;
  using Source::read;

 private:
  void read_box(const Selection& elements, const std::vector<std::int64_t>& strides, std::byte* memory,
                Workspace& workspace) const;
  void read_part(std::size_t part, const Selection& elements, const std::vector<std::int64_t>& strides,
                 std::byte* memory, Workspace& workspace) const;

  std::vector<Array> parts_;
  std::size_t axis_;
  std::vector<std::int64_t> ends_;  // of each part along the axis
  Shape shape_;
};

class ReshapedSource final : public Source {
 public:
  // REQUIRES: as many elements. They keep their C order.
  ReshapedSource(Array array, Shape shape) : array_(std::move(array)), shape_(std::move(shape)) {}

  const Shape& shape() const override { return shape_; }
  DType dtype() const override { return array_.dtype(); }
  std::string name() const override { return array_.path(); }
  Needs needs(std::span<Box> boxes) const override;
  Needs needs_of_any(std::int64_t size) const override;
  void read(std::span<const Box> boxes, Workspace& workspace) const override;
  std::uint64_t stamp() const override { return array_.source()->stamp(); }
  using Source::needs;
  using Source::read;

 private:
  void read_range(std::int64_t begin, std::int64_t end, std::byte* memory, Workspace& workspace) const;

  Array array_;
  Shape shape_;
};

}  // namespace lowtide
