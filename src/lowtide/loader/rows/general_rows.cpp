#include "lowtide/loader/rows/general_rows.h"

namespace lowtide {

void read_rows(const TableColumn& column, std::span<const std::uint64_t> rows, std::byte* memory) {
  const Index index = IndexArray{reinterpret_cast<const std::int64_t*>(rows.data()),
                                 {static_cast<std::int64_t>(rows.size())},
                                 {sizeof(std::int64_t)}};
  read_dense(*column.source, column.selection.index({index}), memory);
}

void read_row_range(const TableColumn& column, std::uint64_t begin, std::uint64_t end, std::byte* memory) {
  const Selection rows = column.selection.rows(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
  read_dense(*column.source, rows, memory);
}

void read_dense(const Source& source, const Selection& selection, std::byte* memory) {
  if (selection.size() == 0) return;
  Box box = Box::dense(selection, itemsize(source.dtype()));
  box.memory = memory;
  const Needs needs = source.needs(box);
  Workspace workspace(
      needs, Budget::process().take(needs.least_bytes, Purpose::staging, "gathering rows of " + source.name()));
  source.read(box, workspace);
}

}  // namespace lowtide
