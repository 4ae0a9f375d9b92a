// Passes over index arrays and masks of any strides, in C order; internal to index/.
//
//   scan_indices(array, extent, axis, [&](std::int64_t k, std::int64_t i) { out[k] = i * stride; });
//
// The visitor is inlined into the inner loop. Thread-safe. Long passes can be interrupted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "lowtide/base/interrupt.h"
#include "lowtide/index/selection.h"

namespace lowtide {

inline std::int64_t load_index(const std::byte* at) {
  std::int64_t value;
  std::memcpy(&value, at, sizeof value);  // a view into a packed record need not be aligned
  return value;
}

// Lets the border interrupt a pass, after every 2^18 elements or so: some hundred microseconds.
class Pace {
 public:
  static constexpr std::int64_t slice = 1 << 18;
  void did(std::int64_t count) {
    if ((left_ -= count) > 0) return;
    left_ = slice;
    interrupt_point();
  }

 private:
  std::int64_t left_ = slice;
};

// Calls sweep(begin, end) for consecutive parts of [0, extent).
template <class Sweep>
void in_slices(std::int64_t extent, Pace& pace, Sweep sweep) {
  for (std::int64_t begin = 0; begin < extent; begin += Pace::slice) {
    const std::int64_t end = std::min(extent, begin + Pace::slice);
    sweep(begin, end);
    pace.did(end - begin);
  }
}

// REQUIRES: -extent <= index < extent.
inline std::int64_t wrapped(std::int64_t index, std::int64_t extent) { return index + ((index >> 63) & extent); }

// Calls visit(row, outer) for each row along the last axis, until it returns false if it returns anything; `outer` is the index of the
// row on the other axes. An array without axes is one row of one element.
template <class Visit>
void for_each_row(const std::byte* data, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                  Visit visit) {
  for (const std::int64_t extent : shape) {
    if (extent == 0) return;
  }
  const std::size_t outer_count = shape.empty() ? 0 : shape.size() - 1;
  std::vector<std::int64_t> outer(outer_count, 0);
  while (true) {
    if constexpr (std::is_void_v<decltype(visit(data, std::span<const std::int64_t>(outer)))>) {
      visit(data, std::span<const std::int64_t>(outer));
    } else {
      if (!visit(data, std::span<const std::int64_t>(outer))) return;
    }
    std::size_t axis = outer_count;
    for (; axis > 0; --axis) {
      data += strides[axis - 1];
      if (++outer[axis - 1] < shape[axis - 1]) break;
      data -= strides[axis - 1] * shape[axis - 1];
      outer[axis - 1] = 0;
    }
    if (axis == 0) return;
  }
}

// The same elements in the same order on the fewest axes, at least one.
void collapse(Shape& shape, std::vector<std::int64_t>& strides);

[[noreturn]] void throw_out_of_bounds(const IndexArray& array, std::int64_t extent, std::size_t axis);

// Calls visit(k, i) with the k-th index, wrapped, without a branch on its value. An index out of bounds is visited too, as
// whatever it wraps to; once all have been visited, std::out_of_range is thrown.
template <class Visit>
void scan_indices(const IndexArray& array, std::int64_t extent, std::size_t axis, Visit visit) {
  Shape shape = array.shape;
  std::vector<std::int64_t> strides = array.strides_bytes;
  collapse(shape, strides);
  std::int64_t k = 0;
  bool bad = false;
  Pace pace;
  for_each_row(reinterpret_cast<const std::byte*>(array.data), shape, strides, [&](const std::byte* row, auto) {
    const auto sweep = [&](std::int64_t begin, std::int64_t end, std::int64_t stride) {
      bool row_bad = false;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t index = wrapped(load_index(row + i * stride), extent);
        row_bad |= static_cast<std::uint64_t>(index) >= static_cast<std::uint64_t>(extent);
        visit(k + i, index);
      }
      return row_bad;
    };
    constexpr std::int64_t dense = sizeof(std::int64_t);
    in_slices(shape.back(), pace, [&](std::int64_t begin, std::int64_t end) {
      bad |= strides.back() == dense ? sweep(begin, end, dense) : sweep(begin, end, strides.back());
    });
    k += shape.back();
  });
  if (bad) throw_out_of_bounds(array, extent, axis);
}

// Calls visit(k, i) for the k-th true, which is element i of its row, then done(begin, end, outer) with the trues of that row. The
// visitor is also called for elements that are false, with the k of the next true, so that no branch depends on the mask: it must only
// assign.
template <class Visit, class Done>
void scan_trues(const Mask& mask, std::int64_t true_count, Visit visit, Done done) {
  const std::int64_t extent = mask.shape.empty() ? 1 : mask.shape.back();
  const std::int64_t stride = mask.shape.empty() ? 0 : mask.strides_bytes.back();
  std::int64_t k = 0;
  Pace pace;
  for_each_row(reinterpret_cast<const std::byte*>(mask.data), mask.shape, mask.strides_bytes,
               [&](const std::byte* row, std::span<const std::int64_t> outer) {
                 const std::int64_t before = k;
                 in_slices(extent, pace, [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end && k < true_count; ++i) {
                     visit(k, i);
                     k += row[i * stride] != std::byte{0};
                   }
                 });
                 if (k > before) done(before, k, outer);
               });
}

}  // namespace lowtide
