// The arrays of a loader as rows that go together: what a row of each is, and where it is in its file.
//
//   RowTable table(columns);
//   for (const TableColumn& column : table.columns()) column.row_bytes;
//   RowLayout layout = table.layout(rows, {}, rows + 1);      // where the columns of a batch are in one block of memory
//
// Immutable; safe to share between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lowtide/loader/rows/row_records.h"
#include "lowtide/row_loader.h"
#include "lowtide/source/file_source.h"

namespace lowtide {

struct TableColumn {
  enum class Kind : std::uint8_t {
    dense,      // rows one after the other in the file
    scattered,  // rows anywhere, the bytes of each together
    general,    // the elements of a row anywhere
    records,    // values one after the other
  };
  Kind kind = Kind::dense;
  std::shared_ptr<const FileSource> source = {};
  Selection selection = {};  // rows along axis 0; of records, values
  ByteMap map = {};          // its bytes in the file
  Shape row_shape = {};
  std::uint64_t row_bytes = 0;                // of records, the mean
  std::optional<RecordOffsets> offsets = {};  // of records

  DType dtype() const { return source->dtype(); }
  bool swapped() const { return source->swapped(); }
  std::uint64_t offset_of(std::uint64_t row) const;  // in the file; not for Kind::general; of records, of a value
};

// Each on its own cache lines.
struct ColumnPlace {
  std::uint64_t values_at = 0, values_bytes = 0;
  std::uint64_t offsets_at = 0;  // of records
};
struct RowLayout {
  std::vector<ColumnPlace> columns;
  std::uint64_t bytes = 0;
};

class RowTable {
 public:
  // Throws std::invalid_argument for arrays whose rows do not go together, UnsupportedError for what cannot be loaded.
  explicit RowTable(const std::vector<RowColumn>& columns);

  std::uint64_t row_count() const { return row_count_; }
  const std::vector<TableColumn>& columns() const { return columns_; }
  std::size_t record_columns() const { return record_columns_; }
  std::uint64_t row_bytes() const { return row_bytes_; }  // of all columns
  std::vector<std::shared_ptr<io::File>> files() const;   // each once
  std::string name() const;                               // for messages: "x.npy and y.npy"

  // `value_counts`: of each column of records, in order; their means where there are none.
  RowLayout layout(std::uint64_t rows, std::span<const std::uint64_t> value_counts, std::uint64_t offset_count) const;
  RowBatch batch(const RowLayout& layout, const std::shared_ptr<void>& owner, std::byte* data,
                 std::vector<std::uint64_t> rows) const;

 private:
  std::vector<TableColumn> columns_;
  std::uint64_t row_count_ = 0, row_bytes_ = 0;
  std::size_t record_columns_ = 0;
};

}  // namespace lowtide
