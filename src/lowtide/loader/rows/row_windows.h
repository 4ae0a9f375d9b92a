// Windows of a windowed shuffle, read run by run: what batches are cut out of.
//
//   auto maker = std::make_shared<RowWindows>(table, order);        // for a schedule whose samples are windows
//   LoadedWindow window(table, order, delivery);
//   window.row(column, place);                                      // bytes of the row at a place: see WindowOrder::mix
//
// Runs that are one range of the file are read by the prefetcher; others are gathered when the rest is there.
//
// A maker is used by one thread at a time. LoadedWindow: immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lowtide/loader/order/window_order.h"
#include "lowtide/loader/prefetch/batch.h"
#include "lowtide/loader/prefetch/prefetch.h"
#include "lowtide/loader/rows/row_table.h"

namespace lowtide {

class RowWindows final : public BatchMaker {
 public:
  RowWindows(std::shared_ptr<const RowTable> table, const WindowOrder& order);

  const MakerTraits& traits() const override { return traits_; }
  std::uint64_t plan(Batch& batch) override;
  void place(Batch& batch, const Piece& piece, std::uint64_t at, std::span<const std::byte> bytes) override;
  void finish(Batch& batch) override;

 private:
  void add_runs(Batch& batch, const TableColumn& column, const ColumnPlace& place,
                std::span<const RecordRange> runs) const;
  void finish_records(Batch& batch, const TableColumn& column, const ColumnPlace& place,
                      std::span<const RecordRange> runs, std::span<const std::int64_t> firsts) const;

  std::shared_ptr<const RowTable> table_;
  WindowOrder order_;
  MakerTraits traits_;
};

class LoadedWindow {
 public:
  LoadedWindow(std::shared_ptr<const RowTable> table, const WindowOrder& order, Delivery delivery);

  const Window& window() const { return window_; }
  std::uint64_t row_number(std::uint64_t place) const { return runs_[place / run_rows_].first + place % run_rows_; }
  const std::byte* row(std::size_t column, std::uint64_t place) const {
    return delivery_.data + layout_.columns[column].values_at + place * table_->columns()[column].row_bytes;
  }
  // `number`: of the column among those of records.
  std::span<const std::byte> record(std::size_t column, std::size_t number, std::uint64_t place) const;

 private:
  std::shared_ptr<const RowTable> table_;
  Delivery delivery_;
  Window window_;
  std::vector<RecordRange> runs_;
  std::uint64_t run_rows_;
  RowLayout layout_;
};

}  // namespace lowtide
