// Elements that are a function of where they are: ranges and random numbers. Nothing is stored.
//
//   GeneratedSource squares({1000}, DType::int64, "squares", [](Progression at, std::byte* out) { … });
//
// Thread-safe, if the function is. Never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "lowtide/scalar.h"
#include "lowtide/source/source.h"

namespace lowtide {

// Places first, first + step, … of the array in C order.
struct Progression {
  std::int64_t first = 0, step = 1, count = 0;
};

class GeneratedSource final : public Source {
 public:
  using Fill = std::function<void(const Progression& places, std::byte* out)>;
  GeneratedSource(Shape shape, DType dtype, std::string name, std::uint64_t stamp, Fill fill);

  const Shape& shape() const override { return shape_; }
  DType dtype() const override { return dtype_; }
  std::string name() const override { return name_; }
  Needs needs(std::span<Box> boxes) const override;
  Needs needs_of_any(std::int64_t) const override { return {}; }
  void read(std::span<const Box> boxes, Workspace& workspace) const override;
  std::uint64_t stamp() const override { return stamp_; }
  using Source::needs;
  using Source::read;

 private:
  Shape shape_;
  DType dtype_;
  std::string name_;
  std::uint64_t stamp_;
  Fill fill_;
};

}  // namespace lowtide
