#include "lowtide/loader/rows/row_windows.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "lowtide/base/units.h"
#include "lowtide/kernels/byteswap.h"
#include "lowtide/loader/rows/general_rows.h"
#include "lowtide/loader/rows/row_batches.h"

namespace lowtide {
namespace {

constexpr std::uint64_t read_bytes = 256_KiB;

// Notes of a window: for each column of records, where the values of each run begin among those of the window, and their end.
std::span<const std::int64_t> firsts_of(std::span<const std::int64_t> notes, std::size_t number,
                                        std::size_t run_count) {
  return notes.subspan(number * (run_count + 1), run_count + 1);
}

// A run of records has an offset more than it has records.
RowLayout layout_of(const RowTable& table, std::uint64_t rows, std::size_t run_count,
                    std::span<const std::int64_t> notes) {
  std::vector<std::uint64_t> value_counts;
  for (std::size_t i = 0; i < table.record_columns(); ++i)
    value_counts.push_back(static_cast<std::uint64_t>(firsts_of(notes, i, run_count).back()));
  return table.layout(rows, value_counts, rows + run_count);
}

}  // namespace

RowWindows::RowWindows(std::shared_ptr<const RowTable> table, const WindowOrder& order)
    : table_(std::move(table)), order_(order) {
  const std::uint64_t rows = order.most_window_rows();
  const auto files = table_->files();
  traits_.what = fmt::format("windows of {} rows of {}, two at a time", rows, table_->name());
  traits_.batch_bytes = table_->layout(rows, {}, rows + rows / order.options().run_rows + 1).bytes;
  // Windows hold so many records that their lengths differ little.
  if (table_->record_columns() > 0) traits_.batch_bytes += traits_.batch_bytes / 8;
  traits_.read_bytes = read_bytes;
  traits_.file_count = files.size();
  traits_.mode = common_mode(files);
  traits_.most_ahead = 1;  // beside the one in use
}

std::uint64_t RowWindows::plan(Batch& batch) {
  const Window window = order_.window(batch.step.begin);
  const std::vector<RecordRange> runs = order_.runs(window);
  std::vector<std::vector<RecordRange>> values;
  for (const TableColumn& column : table_->columns()) {
    if (!column.offsets) continue;
    column.offsets->find(runs, values.emplace_back());
    std::int64_t first = 0;
    batch.notes.push_back(0);
    for (const RecordRange& range : values.back())
      batch.notes.push_back(first += static_cast<std::int64_t>(range.count()));
  }
  const RowLayout layout = layout_of(*table_, window.row_count(), runs.size(), batch.notes);
  std::size_t number = 0;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const TableColumn& column = table_->columns()[i];
    add_runs(batch, column, layout.columns[i], column.offsets ? std::span<const RecordRange>(values[number++]) : runs);
    if (!column.offsets || !column.offsets->map().contiguous()) continue;
    const ByteMap& offsets = column.offsets->map();
    std::uint64_t to = layout.columns[i].offsets_at;
    for (const RecordRange& run : runs) {
      const std::uint64_t bytes = (run.count() + 1) * sizeof(std::int64_t);
      batch.pieces.push_back({&column.offsets->source().file(),
                              static_cast<std::uint64_t>(offsets.base) + run.first * sizeof(std::int64_t), bytes, to});
      to += bytes;
    }
  }
  return layout.bytes;
}

void RowWindows::add_runs(Batch& batch, const TableColumn& column, const ColumnPlace& place,
                          std::span<const RecordRange> runs) const {
  const bool records = column.kind == TableColumn::Kind::records;
  if (!records && column.kind != TableColumn::Kind::dense) return;
  const std::uint64_t each_bytes = records ? itemsize(column.dtype()) : column.row_bytes;
  std::uint64_t to = place.values_at;
  for (const RecordRange& run : runs) {
    const std::uint64_t bytes = run.count() * each_bytes;
    if (bytes > 0) add_piece(batch.pieces, {&column.source->file(), column.offset_of(run.first), bytes, to});
    to += bytes;
  }
}

void RowWindows::place(Batch& batch, const Piece& piece, std::uint64_t at, std::span<const std::byte> bytes) {
  std::memcpy(batch.block.data() + piece.tag + at, bytes.data(), bytes.size());
}

void RowWindows::finish(Batch& batch) {
  const Window window = order_.window(batch.step.begin);
  const std::vector<RecordRange> runs = order_.runs(window);
  const RowLayout layout = layout_of(*table_, window.row_count(), runs.size(), batch.notes);
  std::size_t number = 0;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const TableColumn& column = table_->columns()[i];
    const ColumnPlace& place = layout.columns[i];
    std::byte* values = batch.block.data() + place.values_at;
    if (column.kind == TableColumn::Kind::general || column.kind == TableColumn::Kind::scattered) {
      for (const RecordRange& run : runs) {
        read_row_range(column, run.first, run.last, values);
        values += run.count() * column.row_bytes;
      }
    } else if (column.swapped()) {
      byteswap(values, column.dtype(), place.values_bytes / itemsize(column.dtype()));
    }
    if (column.offsets) finish_records(batch, column, place, runs, firsts_of(batch.notes, number++, runs.size()));
  }
}

void RowWindows::finish_records(Batch& batch, const TableColumn& column, const ColumnPlace& place,
                                std::span<const RecordRange> runs, std::span<const std::int64_t> firsts) const {
  const RecordOffsets& offsets = *column.offsets;
  std::byte* to = batch.block.data() + place.offsets_at;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::uint64_t count = runs[i].count() + 1;
    if (!offsets.map().contiguous()) {
      const auto first = static_cast<std::int64_t>(runs[i].first);
      read_dense(offsets.source(), offsets.selection().rows(first, first + static_cast<std::int64_t>(count)), to);
    } else if (offsets.source().swapped()) {
      byteswap(to, DType::int64, count);
    }
    const std::span<const std::int64_t> run(reinterpret_cast<const std::int64_t*>(to), count);
    const auto first = static_cast<std::uint64_t>(run[0]);
    offsets.check(runs[i], {first, first + static_cast<std::uint64_t>(firsts[i + 1] - firsts[i])}, run);
    to += count * sizeof(std::int64_t);
  }
}

LoadedWindow::LoadedWindow(std::shared_ptr<const RowTable> table, const WindowOrder& order, Delivery delivery)
    : table_(std::move(table)),
      delivery_(std::move(delivery)),
      window_(order.window(delivery_.step.begin)),
      runs_(order.runs(window_)),
      run_rows_(order.options().run_rows),
      layout_(layout_of(*table_, window_.row_count(), runs_.size(), delivery_.notes)) {}

std::span<const std::byte> LoadedWindow::record(std::size_t column, std::size_t number, std::uint64_t place) const {
  const std::uint64_t run = place / run_rows_;
  const ColumnPlace& at = layout_.columns[column];
  // All runs before it are whole.
  const auto* offsets = reinterpret_cast<const std::int64_t*>(delivery_.data + at.offsets_at) + run * (run_rows_ + 1);
  const std::int64_t* record = offsets + place % run_rows_;
  const std::uint64_t item = itemsize(table_->columns()[column].dtype());
  const auto first =
      static_cast<std::uint64_t>(firsts_of(delivery_.notes, number, runs_.size())[run] + record[0] - offsets[0]);
  return {delivery_.data + at.values_at + first * item, static_cast<std::uint64_t>(record[1] - record[0]) * item};
}

}  // namespace lowtide
