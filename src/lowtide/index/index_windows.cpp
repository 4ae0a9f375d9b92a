#include "lowtide/index/index_windows.h"

#include <algorithm>

#include "lowtide/index/index_scan.h"

namespace lowtide {
namespace {

constexpr std::int64_t least_extent = 8;  // shorter windows are not worth recognising

// Unsigned, as anything may stand in the array, and loaded byte by byte, as it may stand anywhere.
bool counts_up(const std::byte* row, std::int64_t extent) {
  const auto first = static_cast<std::uint64_t>(load_index(row));
  std::uint64_t wrong = 0;  // no branch in the loop, so that it is vectorised
  for (std::int64_t j = 0; j < extent; ++j) {
    wrong |= static_cast<std::uint64_t>(load_index(row + 8 * j)) - first - static_cast<std::uint64_t>(j);
  }
  return wrong == 0;
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
  bool windows = true;
  Pace pace;
  for_each_row(reinterpret_cast<const std::byte*>(array->data), array->shape, array->strides_bytes,
               [&](const std::byte* row, auto) {
                 const std::int64_t start = load_index(row);
                 windows = start >= 0 && start <= last_start && counts_up(row, extent);
                 pace.did(extent);
                 return windows;
               });
  return windows ? extent : 0;
}

}  // namespace lowtide
