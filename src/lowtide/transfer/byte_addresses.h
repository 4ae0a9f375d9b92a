// Every address that a map names, by the formula in byte_map.h and nothing cleverer; for tests.
//
//   for_each_address(map, [](const auto& index, std::int64_t address) { … });
#pragma once

#include <cstdint>
#include <vector>

#include "lowtide/transfer/byte_map.h"

namespace lowtide {

// Calls visit(index, address) for each element in C order.
template <class Visit>
void for_each_address(const ByteMap& map, Visit visit) {
  const std::size_t ndim = map.axes.size();
  std::vector<std::int64_t> index(ndim, 0);
  for (std::int64_t k = map.size(); k > 0; --k) {
    std::int64_t address = map.base;
    for (std::size_t j = 0; j < ndim; ++j) address += index[j] * map.axes[j].stride_bytes;
    for (const OffsetTable& table : map.tables) {
      std::int64_t entry = 0;
      for (std::size_t j = 0; j < table.axes.size(); ++j) entry += index[table.axes[j]] * table.strides[j];
      address += table.entries[entry] * table.scale_bytes;
    }
    visit(static_cast<const std::vector<std::int64_t>&>(index), address);
    for (std::size_t j = ndim; j > 0 && ++index[j - 1] == map.axes[j - 1].extent; --j) index[j - 1] = 0;
  }
}

}  // namespace lowtide
