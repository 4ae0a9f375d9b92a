#include "lowtide/loader/rows/row_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "lowtide/base/units.h"
#include "lowtide/kernels/byteswap.h"
#include "lowtide/loader/rows/general_rows.h"

namespace lowtide {
namespace {

constexpr std::uint64_t most_read_bytes = 256_KiB;

std::uint64_t most_rows(const Schedule& schedule) {
  const ScheduleOptions& options = schedule.options();
  return options.epochs ? std::min(options.batch, *options.epochs * options.sample_count) : options.batch;
}

std::uint64_t usual_read_bytes(const RowTable& table, std::uint64_t rows_together) {
  std::uint64_t most = 1;
  for (const TableColumn& column : table.columns()) {
    if (column.kind == TableColumn::Kind::general) continue;
    most = std::max(most, std::max(column.row_bytes, std::min(column.row_bytes * rows_together, most_read_bytes)));
  }
  return most;
}

}  // namespace

void add_piece(std::vector<Piece>& pieces, const Piece& piece) {
  if (piece.bytes == 0) return;
  if (!pieces.empty()) {
    Piece& last = pieces.back();
    if (last.file == piece.file && last.offset + last.bytes == piece.offset && last.tag + last.bytes == piece.tag) {
      last.bytes += piece.bytes;
      return;
    }
  }
  pieces.push_back(piece);
}

RowBatches::RowBatches(std::shared_ptr<const RowTable> table, const Sampler& sampler, const Schedule& schedule,
                       bool pin)
    : table_(std::move(table)), sampler_(sampler), schedule_(schedule) {
  const std::uint64_t rows = most_rows(schedule);
  const auto files = table_->files();
  traits_.what = fmt::format("loading batches of {} rows of {}", rows, table_->name());
  traits_.batch_bytes = table_->layout(rows, {}, rows + 1).bytes + list_bytes(rows, rows * table_->columns().size());
  // Half of all batches of records are longer than the mean, and few of them by much.
  if (table_->record_columns() > 0) traits_.batch_bytes += traits_.batch_bytes / 4;
  traits_.read_bytes = usual_read_bytes(*table_, sampler.kind() == Sampler::Kind::sequential ? rows : 1);
  traits_.file_count = files.size();
  traits_.mode = common_mode(files);
  traits_.pin = pin;
}

RowBatches::~RowBatches() {
  if (!made_.here()) (void)ahead_.release();
}

void RowBatches::forget() {
  if (made_.here()) ahead_.reset();
}

// What a parent's thread was changing when it forked is left alone.
RecordsAhead& RowBatches::ahead() {
  if (!made_.here()) {
    (void)ahead_.release();
    made_ = MadeHere();
  }
  if (!ahead_) ahead_ = std::make_unique<RecordsAhead>(table_, sampler_, schedule_);
  return *ahead_;
}

std::uint64_t RowBatches::plan(Batch& batch) {
  if (table_->record_columns() > 0) return plan_records(batch);
  sampler_.fill(batch.step.begin, batch.step.end, batch.samples);
  const RowLayout places = layout(batch.samples.size(), {});
  for (std::size_t i = 0; i < places.columns.size(); ++i) add_rows(batch, table_->columns()[i], places.columns[i]);
  return places.bytes + list_bytes(batch.samples.size(), batch.pieces.size());
}

std::uint64_t RowBatches::plan_records(Batch& batch) {
  PlannedRecords& planned = ahead().of(batch.step);
  batch.samples = planned.samples;
  for (const auto& values : planned.values) {
    std::int64_t offset = 0;
    batch.notes.push_back(0);
    for (const RecordRange& range : values) batch.notes.push_back(offset += static_cast<std::int64_t>(range.count()));
  }
  const RowLayout places = layout(batch.samples.size(), batch.notes);
  std::size_t number = 0;
  for (std::size_t i = 0; i < places.columns.size(); ++i) {
    const TableColumn& column = table_->columns()[i];
    if (!column.offsets) {
      add_rows(batch, column, places.columns[i]);
      continue;
    }
    const std::uint64_t item = itemsize(column.dtype());
    std::uint64_t to = places.columns[i].values_at;
    for (const RecordRange& range : planned.values[number++]) {
      if (range.count() == 0) continue;
      add_piece(batch.pieces, {&column.source->file(), column.offset_of(range.first), range.count() * item, to});
      to += range.count() * item;
    }
  }
  return places.bytes + list_bytes(batch.samples.size(), batch.pieces.size());
}

void RowBatches::add_rows(Batch& batch, const TableColumn& column, const ColumnPlace& place) const {
  if (column.kind == TableColumn::Kind::general) return;
  std::uint64_t to = place.values_at;
  for (const std::uint64_t row : batch.samples) {
    add_piece(batch.pieces, {&column.source->file(), column.offset_of(row), column.row_bytes, to});
    to += column.row_bytes;
  }
}

RowLayout RowBatches::layout(std::uint64_t rows, std::span<const std::int64_t> notes) const {
  std::vector<std::uint64_t> value_counts;
  for (std::size_t i = 0; i < table_->record_columns(); ++i)
    value_counts.push_back(static_cast<std::uint64_t>(notes[(i + 1) * (rows + 1) - 1]));
  return table_->layout(rows, value_counts, rows + 1);
}

void RowBatches::place(Batch& batch, const Piece& piece, std::uint64_t at, std::span<const std::byte> bytes) {
  std::memcpy(batch.block.data() + piece.tag + at, bytes.data(), bytes.size());
}

void RowBatches::finish(Batch& batch) {
  const std::uint64_t rows = batch.samples.size();
  const RowLayout places = layout(rows, batch.notes);
  const std::int64_t* offsets = batch.notes.data();
  for (std::size_t i = 0; i < places.columns.size(); ++i) {
    const TableColumn& column = table_->columns()[i];
    const ColumnPlace& place = places.columns[i];
    std::byte* values = batch.block.data() + place.values_at;
    if (column.kind == TableColumn::Kind::general) {
      read_rows(column, batch.samples, values);
    } else if (column.swapped()) {
      byteswap(values, column.dtype(), place.values_bytes / itemsize(column.dtype()));
    }
    if (!column.offsets) continue;
    std::memcpy(batch.block.data() + place.offsets_at, offsets, (rows + 1) * sizeof(std::int64_t));
    offsets += rows + 1;
  }
}

RowBatch RowBatches::unpack(Delivery delivery) const {
  const RowLayout places = layout(delivery.samples.size(), delivery.notes);
  return table_->batch(places, delivery.owner, delivery.data, std::move(delivery.samples));
}

DirectFeed::DirectFeed(std::shared_ptr<RowBatches> maker, const Schedule& schedule, const StreamPlace& place)
    : maker_(std::move(maker)), stream_(maker_, schedule) {
  stream_.seek(place.position, place.loop_ended);
}

std::optional<RowBatch> DirectFeed::next() {
  const Turn::Held mine = turn_.take("the next batch of a loader");
  std::optional<Delivery> delivery = stream_.next();
  if (!delivery) return std::nullopt;
  return maker_->unpack(std::move(*delivery));
}

void DirectFeed::check_budget() const {
  const MakerTraits& traits = maker_->traits();
  (void)Budget::process().take(2 * round_up(traits.batch_bytes, page_bytes), Purpose::read_ahead, traits.what);
}

void DirectFeed::stop() {
  const Turn::Held mine = turn_.take("stopping a loader");
  stream_.stop();
  maker_->forget();
}

}  // namespace lowtide
