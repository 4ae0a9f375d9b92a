// Rows whose bytes are not together in the file (a transposed array, every second column), gathered into dense memory.
//
//   read_rows(column, samples, memory);            // rows anywhere, in this order
//   read_row_range(column, begin, end, memory);    // neighbours, which share their reads
//
// Thread-safe. Blocks for the disk. Throws BudgetError if the reads' working memory does not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "lowtide/loader/rows/row_table.h"

namespace lowtide {

void read_rows(const TableColumn& column, std::span<const std::uint64_t> rows, std::byte* memory);
void read_row_range(const TableColumn& column, std::uint64_t begin, std::uint64_t end, std::byte* memory);
// The same of any selection: into native byte order.
void read_dense(const Source& source, const Selection& selection, std::byte* memory);

}  // namespace lowtide
