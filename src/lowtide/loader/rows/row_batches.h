// Batches of rows straight from the disk, each row where the sampler says: a shuffle that is global, or none.
//
//   auto maker = std::make_shared<RowBatches>(table, sampler, schedule);
//   RowBatch batch = maker->unpack(delivery);
//
// Rows whose bytes are together are read by the prefetcher, many at a time; others are gathered batch by batch when the rest is there.
//
// A maker is used by one thread at a time; unpack() by any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lowtide/loader/order/sampler.h"
#include "lowtide/loader/prefetch/batch.h"
#include "lowtide/loader/prefetch/prefetch.h"
#include "lowtide/loader/rows/records_ahead.h"
#include "lowtide/loader/rows/row_feed.h"
#include "lowtide/loader/rows/row_table.h"

namespace lowtide {

class RowBatches final : public BatchMaker {
 public:
  RowBatches(std::shared_ptr<const RowTable> table, const Sampler& sampler, const Schedule& schedule, bool pin = false);
  ~RowBatches() override;

  const MakerTraits& traits() const override { return traits_; }
  std::uint64_t plan(Batch& batch) override;
  void place(Batch& batch, const Piece& piece, std::uint64_t at, std::span<const std::byte> bytes) override;
  void finish(Batch& batch) override;

  RowBatch unpack(Delivery delivery) const;
  void forget();  // what was looked up ahead. REQUIRES: no thread uses the maker

 private:
  RecordsAhead& ahead();
  std::uint64_t plan_records(Batch& batch);
  void add_rows(Batch& batch, const TableColumn& column, const ColumnPlace& place) const;
  // `notes` of a batch: rows + 1 offsets for each column of records.
  RowLayout layout(std::uint64_t rows, std::span<const std::int64_t> notes) const;

  std::shared_ptr<const RowTable> table_;
  Sampler sampler_;
  Schedule schedule_;
  MakerTraits traits_;
  MadeHere made_;
  std::unique_ptr<RecordsAhead> ahead_;
};

// Joins the piece with the last one where both sides allow it.
void add_piece(std::vector<Piece>& pieces, const Piece& piece);

class DirectFeed final : public RowFeed {
 public:
  DirectFeed(std::shared_ptr<RowBatches> maker, const Schedule& schedule, const StreamPlace& place);
  std::optional<RowBatch> next() override;
  void begin_loop() override { stream_.begin_loop(); }
  StreamPlace place(std::uint64_t ahead) const override { return stream_.place(ahead); }
  std::optional<std::uint64_t> batches_left() const override { return stream_.batches_left(); }
  void stop() override;
  LoaderStats stats() const override { return stream_.stats(); }
  void check_budget() const override;

 private:
  Turn turn_;  // next() and stop()
  std::shared_ptr<RowBatches> maker_;
  BatchStream stream_;
};

}  // namespace lowtide
