#include "lowtide/array/index_windows.h"

#include <algorithm>

namespace lowtide {
namespace {

constexpr std::int64_t least_extent = 8;  // shorter windows are not worth recognising

bool counts_up(const std::int64_t* row, std::int64_t extent) {
  std::int64_t wrong = 0;  // no branch in the loop, so that it is vectorised
  for (std::int64_t j = 0; j < extent; ++j) wrong |= row[j] - row[0] - j;
  return wrong == 0;
}

// Calls test(row) for every row of the array's last axis until one is false.
template <class Test>
bool every_row(const IndexArray& array, Test test) {
  const std::size_t outer = array.shape.size() - 1;
  std::vector<std::int64_t> at(outer, 0);
  const auto* row = reinterpret_cast<const std::byte*>(array.data);
  while (true) {
    if (!test(reinterpret_cast<const std::int64_t*>(row))) return false;
    std::size_t axis = outer;
    for (; axis > 0; --axis) {
      row += array.strides_bytes[axis - 1];
      if (++at[axis - 1] < array.shape[axis - 1]) break;
      row -= array.strides_bytes[axis - 1] * array.shape[axis - 1];
      at[axis - 1] = 0;
    }
    if (axis == 0) return true;
  }
}

}  // namespace

std::int64_t window_extent(const Selection& selection, std::span<const Index> indices) {
  if (indices.empty() || selection.ndim() == 0 || !selection.tables().empty()) return 0;
  const auto* array = std::get_if<IndexArray>(&indices[0]);
  if (array == nullptr || array->shape.size() < 2 || array->strides_bytes.back() != 8) return 0;
  const bool others_are_basic = std::all_of(indices.begin() + 1, indices.end(), [](const Index& index) {
    return std::holds_alternative<Slice>(index) || std::holds_alternative<Ellipsis>(index) ||
           std::holds_alternative<NewAxis>(index);
  });
  const std::int64_t extent = array->shape.back();
  const bool empty = std::find(array->shape.begin(), array->shape.end(), 0) != array->shape.end();
  if (!others_are_basic || empty || extent < least_extent) return 0;
  const std::int64_t last_start = selection.axes()[0].extent - extent;
  const bool windows = every_row(
      *array, [&](const std::int64_t* row) { return row[0] >= 0 && row[0] <= last_start && counts_up(row, extent); });
  return windows ? extent : 0;
}

}  // namespace lowtide
