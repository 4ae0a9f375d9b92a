#include "lowtide/loader/general_rows.h"

#include "lowtide/array/gather.h"
#include "lowtide/kernels/byteswap.h"

namespace lowtide {

void read_rows(const TableColumn& column, std::span<const std::uint64_t> rows, std::byte* memory) {
  const Index index = IndexArray{reinterpret_cast<const std::int64_t*>(rows.data()),
                                 {static_cast<std::int64_t>(rows.size())},
                                 {sizeof(std::int64_t)}};
  read_dense(column.source, column.selection.index({index}), memory);
}

void read_row_range(const TableColumn& column, std::uint64_t begin, std::uint64_t end, std::byte* memory) {
  const Selection rows = column.selection.rows(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end));
  read_dense(column.source, rows, memory);
}

// read_selection_into() wants working memory for any selection; what this one needs may be far less.
void read_dense(const Source& source, const Selection& selection, std::byte* memory) {
  if (selection.size() == 0) return;
  io::File& file = *source.file;
  const io::File::Pin pin = file.pin();
  file.check_unchanged();
  const Walk walk = make_walk(selection, dense_strides(selection.shape(), selection.itemsize()));
  const GatherNeeds needs = gather_needs(file, walk);
  Staging staging(needs.most_bytes,
                  Budget::process().take(needs.least_bytes, Purpose::staging, "gathering rows of " + file.path()));
  gather(file, walk, memory, staging);
  file.check_unchanged();
  if (source.layout.endian != native_endian)
    byteswap(memory, source.layout.dtype, static_cast<std::size_t>(selection.size()));
}

}  // namespace lowtide
