// Which bytes of a file an array names: NumPy indexing as address arithmetic, with no IO.
//
// The element at output index (o_0, …, o_n-1) is at
//
//   base + Σ_j o_j · axes[j].stride_bytes + Σ_t tables[t][ o restricted to the axes t depends on ]
//
// Slices, integers, transposes and new axes change the affine part; integer arrays and masks add an offset table. The form is
// closed under all of them, so views of views of gathers compose and cost nothing until they are read.
//
//   Selection s = Selection::whole(layout);
//   Selection t = s.index({Slice{0, 100, 2}, IndexArray{...}});        // NumPy's rules, NumPy's errors
//   t.shape(); t.transpose({1, 0});
//
// Immutable after construction; safe to share between threads. Tables hold a lease (Purpose::index).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "lowtide/formats/layout.h"
#include "lowtide/index.h"
#include "lowtide/memory/block.h"

namespace lowtide {

struct Axis {
  std::int64_t extent = 0;
  std::int64_t stride_bytes = 0;  // 0 on an axis that only tables depend on
};

// Byte offsets added on top of the affine part, as a strided view of a leased block.
struct OffsetTable {
  std::vector<std::size_t> axes;       // output axes it depends on, ascending, at least one, each of extent > 1
  std::vector<std::int64_t> strides;   // elements of `data` per step along each of those axes; may be negative
  const std::int64_t* data = nullptr;  // where all those indices are zero
  std::shared_ptr<const Block> owner;
};

struct SelectionParts;

class Selection {
 public:
  Selection() = default;
  static Selection whole(const Layout& layout);

  const std::vector<Axis>& axes() const { return axes_; }
  const std::vector<OffsetTable>& tables() const { return tables_; }
  std::int64_t base() const { return base_; }  // bytes from the start of the file
  std::size_t itemsize() const { return itemsize_; }
  std::size_t ndim() const { return axes_.size(); }
  Shape shape() const;
  std::int64_t size() const;  // elements
  std::uint64_t size_bytes() const { return static_cast<std::uint64_t>(size()) * itemsize_; }
  // No tables, and the elements in C order are one contiguous range of the file that starts at base().
  bool contiguous() const;

  // NumPy's basic and advanced indexing, all rules included: broadcasting of index arrays, where the broadcast axes go
  // (in place when the advanced indices are adjacent, first otherwise; an int beside an array counts as advanced), masks as
  // nonzero(), negative indices, empty results. Throws std::out_of_range with NumPy's message ("index 12 is out of bounds
  // for axis 0 with size 10", "too many indices for array: …", "boolean index did not match …"), std::invalid_argument
  // ("slice step cannot be zero", a result of more than 2^63 - 1 bytes), BudgetError for a table that does not fit.
  // Windows given element by element are recognised for reading; for writing they are kept as elements, whose order decides
  // where they overlap.
  enum class Windows : std::uint8_t { recognise, keep };
  Selection index(std::span<const Index> indices, Windows windows = Windows::recognise) const;
  Selection index(std::initializer_list<Index> indices) const {
    return index(std::span(indices.begin(), indices.size()));
  }
  // permutation[j] = the old axis that becomes axis j. Throws std::invalid_argument ("axes don't match array", …).
  Selection transpose(std::span<const std::size_t> permutation) const;
  // Rows [begin, end) of axis 0, without bounds checks beyond an assert: the tile cutter.
  Selection rows(std::int64_t begin, std::int64_t end) const;
  // The same along any axis.
  Selection narrow(std::size_t axis, std::int64_t begin, std::int64_t end) const;

 private:
  Selection(std::size_t itemsize, SelectionParts parts);

  std::int64_t base_ = 0;
  std::size_t itemsize_ = 1;
  std::vector<Axis> axes_;
  std::vector<OffsetTable> tables_;
};

}  // namespace lowtide
