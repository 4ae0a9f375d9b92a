// A source that is in memory: elements of the caller's, with any strides.
//
//   MemorySource source(data, {100, 20}, {160, 8}, DType::float64);
//
// Thread-safe. Never blocks. The memory must outlive it, unless it is given an owner of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/source/source.h"

namespace lowtide {

class MemorySource final : public Source {
 public:
  // `owner`, if given, is kept as long as the source is.
  MemorySource(const std::byte* data, Shape shape, std::vector<std::int64_t> strides_bytes, DType dtype,
               Endian endian = native_endian, std::shared_ptr<const void> owner = {});

  const Shape& shape() const override { return shape_; }
  DType dtype() const override { return dtype_; }
  std::string name() const override { return "an array in memory"; }
  Needs needs(std::span<Box> boxes) const override;
  Needs needs_of_any(std::int64_t) const override { return {}; }
  void read(std::span<const Box> boxes, Workspace& workspace) const override;
  std::uint64_t stamp() const override { return 0; }
  using Source::needs;
  using Source::read;

  // Where the elements of a selection are, if they can be used there: in native byte order, aligned, and no
  // index array selects them.
  struct View {
    const std::byte* data;
    std::vector<std::int64_t> strides_bytes;
  };
  std::optional<View> view(const Selection& selection) const;

 private:
  const std::byte* lowest_;  // of all elements
  std::int64_t first_ = 0;   // bytes from there to the first one
  Shape shape_;
  std::vector<std::int64_t> strides_bytes_;
  DType dtype_;
  Endian endian_;
  std::shared_ptr<const void> owner_;
};

}  // namespace lowtide
