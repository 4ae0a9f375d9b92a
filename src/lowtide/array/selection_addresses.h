// Every address that a selection names, by the formula in selection.h and nothing cleverer; for tests.
//
//   EXPECT_EQ(addresses(s.index({Slice{0, 2, {}}})), (std::vector<std::int64_t>{64, 72}));
#pragma once

#include <cstdint>
#include <vector>

#include "lowtide/array/selection.h"

namespace lowtide {

// Calls visit(index, address) for each element in C order.
template <class Visit>
void for_each_address(const Selection& selection, Visit visit) {
  const std::size_t ndim = selection.ndim();
  std::vector<std::int64_t> index(ndim, 0);
  for (std::int64_t k = selection.size(); k > 0; --k) {
    std::int64_t address = selection.base();
    for (std::size_t j = 0; j < ndim; ++j) address += index[j] * selection.axes()[j].stride_bytes;
    for (const OffsetTable& table : selection.tables()) {
      const std::int64_t* entry = table.data;
      for (std::size_t j = 0; j < table.axes.size(); ++j) entry += index[table.axes[j]] * table.strides[j];
      address += *entry;
    }
    visit(static_cast<const std::vector<std::int64_t>&>(index), address);
    for (std::size_t j = ndim; j > 0 && ++index[j - 1] == selection.axes()[j - 1].extent; --j) index[j - 1] = 0;
  }
}

inline std::vector<std::int64_t> addresses(const Selection& selection) {
  std::vector<std::int64_t> all;
  for_each_address(selection, [&](const auto&, std::int64_t address) { all.push_back(address); });
  return all;
}

}  // namespace lowtide
