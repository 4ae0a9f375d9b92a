// Which elements of a source an array names: NumPy's indexing as one map for each axis of the source. Knows neither bytes nor file.
//
// The element at output index (o_0, …, o_n-1) has, on axis i of the source, the index
//
//   inputs[i].start + Σ_{j: axes[j].input = i} o_j · axes[j].step + Σ_{t: tables[t].input = i} tables[t][ o restricted to its axes ]
//
// An integer is a start, a slice a start and a step, an integer array or a mask's nonzero a table; transposes and new axes permute and
// add output axes. The form is closed under all of them, so views of views of gathers compose, whatever their depth, into maps
// of the same size, and cost nothing until they are read.
//
//   Selection s = Selection::whole({1000, 20});
//   Selection t = s.index({Slice{0, 100, 2}, IndexArray{...}});        // NumPy's rules, NumPy's errors
//   t.shape(); t.transpose({1, 0});
//
// Immutable after construction; safe to share between threads. Tables hold a lease (Purpose::index).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "lowtide/index.h"
#include "lowtide/memory/block.h"

namespace lowtide {

// An axis of the result, and the axis of the source along which it steps.
struct Axis {
  std::int64_t extent = 0;
  std::int64_t step = 0;  // 0 on a new axis, and on one that only tables depend on
  std::size_t input = 0;  // means nothing where step is 0
};

// An axis of the source, and the index on it where all output indices are zero.
struct Input {
  std::int64_t extent = 0;
  std::int64_t start = 0;
};

// Numbers of four bytes where an axis of the source is short enough for them, which halves the memory of a gather, else of eight.
struct Entries {
  const std::byte* first = nullptr;
  bool narrow = false;

  static bool narrow_for(std::int64_t extent) { return extent <= std::numeric_limits<std::int32_t>::max(); }
  std::int64_t bytes_each() const { return narrow ? 4 : 8; }
  void skip(std::int64_t count) { first += count * bytes_each(); }
  // Calls visit with a pointer to std::int32_t or std::int64_t.
  template <class Visit>
  void typed(Visit visit) const {
    if (narrow) {
      visit(reinterpret_cast<const std::int32_t*>(first));
    } else {
      visit(reinterpret_cast<const std::int64_t*>(first));
    }
  }
  std::int64_t operator[](std::int64_t i) const {
    std::int64_t value = 0;
    typed([&](const auto* entries) { value = entries[i]; });
    return value;
  }
};

// Indices on one axis of the source, added to its start, as a strided view of a leased block.
struct Table {
  std::size_t input = 0;
  std::vector<std::size_t> axes;      // output axes it depends on, ascending, at least one, each of extent > 1
  std::vector<std::int64_t> strides;  // entries per step along each of those axes; may be negative
  Entries entries;                    // from where all those indices are zero
  std::shared_ptr<const Block> owner;
};

struct SelectionParts;

class Selection {
 public:
  Selection() = default;
  // All of a source. No result of indexing may have more than `most_size` elements.
  static Selection whole(const Shape& shape, std::int64_t most_size = std::numeric_limits<std::int64_t>::max());
  // What inputs() and axes() of a selection without tables said, in another process. Throws std::invalid_argument unless every
  // element lies within the inputs.
  static Selection restored(std::vector<Input> inputs, std::vector<Axis> axes,
                            std::int64_t most_size = std::numeric_limits<std::int64_t>::max());

  const std::vector<Input>& inputs() const { return inputs_; }  // one for each axis of the source
  const std::vector<Axis>& axes() const { return axes_; }
  const std::vector<Table>& tables() const { return tables_; }
  std::size_t ndim() const { return axes_.size(); }
  Shape shape() const;
  std::int64_t size() const;  // elements

  // NumPy's basic and advanced indexing, all rules included: broadcasting of index arrays, where the broadcast axes go
  // (in place when the advanced indices are adjacent, first otherwise; an int beside an array counts as advanced), masks as
  // nonzero(), negative indices, empty results. Throws std::out_of_range with NumPy's message ("index 12 is out of bounds
  // for axis 0 with size 10", "too many indices for array: …", "boolean index did not match …"), std::invalid_argument
  // ("slice step cannot be zero", a result of more than most_size elements), BudgetError for a table that does not fit.
  // Windows given element by element are recognised for reading; for writing they are kept as elements, whose order decides
  // where they overlap. Long index arrays can be interrupted.
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
  // NumPy's broadcast_to: axes in front and axes of one element repeat. Throws std::invalid_argument.
  Selection broadcast(const Shape& shape) const;
  // Which elements of the source a selection of this one names. REQUIRES: outer selects from this->shape().
  Selection of(const Selection& outer) const;
  // The same choice on some axes of a larger source, input i being axis inputs[i] of it, followed by its other axes whole.
  Selection within(const Shape& space, std::span<const std::size_t> inputs) const;
  // The same tables on other inputs and axes. REQUIRES: as many inputs, every element within them, and axes that tables depend on as they are.
  Selection with(std::vector<Input> inputs, std::vector<Axis> axes) const;
  // Whether the element changes along an axis of more than one, as it does not where it was broadcast.
  bool depends_on(std::size_t axis) const;
  // The same maps; tables are the same only if they are in the same memory.
  bool operator==(const Selection& other) const;

 private:
  Selection(std::int64_t most_size, SelectionParts parts);

  std::int64_t most_size_ = std::numeric_limits<std::int64_t>::max();
  std::vector<Input> inputs_;
  std::vector<Axis> axes_;
  std::vector<Table> tables_;
};

}  // namespace lowtide
