#include "lowtide/loader/rows/row_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lowtide/base/checked.h"
#include "lowtide/error.h"

namespace lowtide {
namespace {

constexpr std::uint64_t column_align = 64;

// What follows the first axis is one range of the file, the same for every row.
bool rows_are_contiguous(const ByteMap& map) {
  auto step = static_cast<std::int64_t>(map.itemsize);
  for (std::size_t i = map.axes.size(); i > 1; --i) {
    const ByteAxis& axis = map.axes[i - 1];
    if (axis.extent != 1 && axis.stride_bytes != step) return false;
    step *= axis.extent;
  }
  return std::all_of(map.tables.begin(), map.tables.end(),
                     [](const OffsetTable& table) { return table.axes == std::vector<std::size_t>{0}; });
}

TableColumn::Kind kind_of(const ByteMap& map, std::uint64_t row_bytes) {
  if (row_bytes == 0) return TableColumn::Kind::dense;
  if (!rows_are_contiguous(map)) return TableColumn::Kind::general;
  const ByteAxis& rows = map.axes[0];
  const bool dense = rows.extent <= 1 || rows.stride_bytes == static_cast<std::int64_t>(row_bytes);
  return dense && map.tables.empty() ? TableColumn::Kind::dense : TableColumn::Kind::scattered;
}

TableColumn rows_of(const Array& array) {
  TableColumn column{.source = file_of(array), .selection = array.selection(), .offsets = {}};
  column.map = column.source->lower(column.selection);
  if (array.ndim() == 0) throw std::invalid_argument(array.path() + " has no rows: it is a single value");
  const Shape shape = array.shape();
  column.row_shape.assign(shape.begin() + 1, shape.end());
  column.row_bytes = itemsize(array.dtype());
  for (const std::int64_t extent : column.row_shape) column.row_bytes *= static_cast<std::uint64_t>(extent);
  column.kind = kind_of(column.map, column.row_bytes);
  return column;
}

TableColumn records_of(const RowColumn& given) {
  const Array& values = given.values;
  if (values.ndim() != 1) {
    throw std::invalid_argument(fmt::format("values of records must have one dimension, but those in {} have {}",
                                            values.path(), values.ndim()));
  }
  TableColumn column{.kind = TableColumn::Kind::records,
                     .source = file_of(values),
                     .selection = values.selection(),
                     .map = file_of(values)->lower(values.selection()),
                     .offsets = RecordOffsets(*given.offsets, values)};
  if (values.size() > 1 && !column.map.contiguous())
    throw UnsupportedError(values.path() +
                           ": values of records must be one after the other in the file, not a strided view");
  const std::uint64_t records = std::max<std::uint64_t>(column.offsets->record_count(), 1);
  column.row_bytes = (values.size_bytes() + records - 1) / records;
  return column;
}

std::uint64_t rows_in(const TableColumn& column) {
  if (column.offsets) return column.offsets->record_count();
  return static_cast<std::uint64_t>(column.selection.axes()[0].extent);
}

void refuse_live(const Array& array) {
  if (!file_of(array)->live()) return;
  throw UnsupportedError(array.path() +
                         " is open live: a loader promises every row once, which data that changes cannot keep");
}

}  // namespace

std::uint64_t TableColumn::offset_of(std::uint64_t row) const {
  const auto index = static_cast<std::int64_t>(row);
  std::int64_t offset = map.base + index * map.axes[0].stride_bytes;
  for (const OffsetTable& table : map.tables) offset += table.entries[index * table.strides[0]] * table.scale_bytes;
  return static_cast<std::uint64_t>(offset);
}

RowTable::RowTable(const std::vector<RowColumn>& columns) {
  if (columns.empty()) throw std::invalid_argument("no array is given");
  for (const RowColumn& given : columns) {
    refuse_live(given.values);
    if (given.offsets) refuse_live(*given.offsets);
    TableColumn column = given.offsets ? records_of(given) : rows_of(given.values);
    const std::uint64_t rows = rows_in(column);
    if (columns_.empty()) row_count_ = rows;
    if (rows != row_count_) {
      throw std::invalid_argument(fmt::format("{} has {} rows and {} has {}: rows of all arrays go together",
                                              columns.front().values.path(), row_count_, given.values.path(), rows));
    }
    row_bytes_ += column.row_bytes;
    record_columns_ += column.offsets.has_value();
    columns_.push_back(std::move(column));
  }
}

std::vector<std::shared_ptr<io::File>> RowTable::files() const {
  std::vector<std::shared_ptr<io::File>> files;
  const auto add = [&](const std::shared_ptr<io::File>& file) {
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  };
  for (const TableColumn& column : columns_) {
    add(column.source->shared_file());
    if (column.offsets) add(column.offsets->source().shared_file());
  }
  return files;
}

std::string RowTable::name() const {
  const std::string first = columns_.front().source->name();
  if (columns_.size() == 1) return first;
  if (columns_.size() == 2) return fmt::format("{} and {}", first, columns_.back().source->name());
  return fmt::format("{} and {} more", first, columns_.size() - 1);
}

RowLayout RowTable::layout(std::uint64_t rows, std::span<const std::uint64_t> value_counts,
                           std::uint64_t offset_count) const {
  RowLayout layout;
  const auto add = [&](std::uint64_t count, std::uint64_t bytes_each) {
    const std::uint64_t begin = layout.bytes;
    const auto bytes = checked_multiply(count, bytes_each);
    if (!bytes || *bytes >= (std::uint64_t{1} << 62) - begin)
      throw std::invalid_argument(fmt::format("{} rows of {} at a time are too many", rows, name()));
    layout.bytes = round_up(begin + *bytes, column_align);
    return begin;
  };
  std::size_t records = 0;
  for (const TableColumn& column : columns_) {
    ColumnPlace place;
    if (!column.offsets) {
      place.values_at = add(rows, column.row_bytes);
      place.values_bytes = rows * column.row_bytes;
    } else {
      const bool counted = !value_counts.empty();
      const std::uint64_t count = counted ? value_counts[records++] : rows;
      const std::uint64_t bytes_each = counted ? itemsize(column.dtype()) : column.row_bytes;
      place.values_at = add(count, bytes_each);
      place.values_bytes = count * bytes_each;
      place.offsets_at = add(offset_count, sizeof(std::int64_t));
    }
    layout.columns.push_back(place);
  }
  return layout;
}

RowBatch RowTable::batch(const RowLayout& layout, const std::shared_ptr<void>& owner, std::byte* data,
                         std::vector<std::uint64_t> rows) const {
  RowBatch batch;
  const auto count = static_cast<std::int64_t>(rows.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const TableColumn& column = columns_[i];
    const ColumnPlace& place = layout.columns[i];
    Shape shape = column.row_shape;
    const std::uint64_t item = itemsize(column.dtype());
    shape.insert(shape.begin(), column.offsets ? static_cast<std::int64_t>(place.values_bytes / item) : count);
    batch.columns.emplace_back(owner, data + place.values_at, std::move(shape), column.dtype());
    if (column.offsets) {
      batch.offsets.emplace_back(owner, data + place.offsets_at, Shape{count + 1}, DType::int64);
    } else {
      batch.offsets.emplace_back();
    }
  }
  batch.rows = std::move(rows);
  return batch;
}

}  // namespace lowtide
