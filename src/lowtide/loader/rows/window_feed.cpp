#include "lowtide/loader/rows/window_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lowtide/array/read.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"

namespace lowtide {
namespace {

// For all columns of a batch.
Buffer new_memory(std::uint64_t bytes) { return new_buffer({static_cast<std::int64_t>(bytes)}, DType::uint8); }

std::int64_t* offsets_in(std::byte* data, const ColumnPlace& place) {
  return reinterpret_cast<std::int64_t*>(data + place.offsets_at);
}

std::uint64_t usual_batch_bytes(const RowTable& table, const Schedule& schedule) {
  const ScheduleOptions& options = schedule.options();
  const std::uint64_t rows =
      options.epochs ? std::min(options.batch, *options.epochs * options.sample_count) : options.batch;
  return table.layout(rows, {}, rows + 1).bytes;
}

constexpr std::uint64_t least_slots_bytes = 1_MiB;

std::shared_ptr<RowBatches> direct_batches(const std::shared_ptr<const RowTable>& table, const WindowOrder& order,
                                           const Schedule& schedule) {
  return std::make_shared<RowBatches>(table, Sampler(order), schedule);
}

Schedule one_by_one(const WindowOrder& order) { return Schedule({.sample_count = order.window_count()}); }

}  // namespace

WindowFeed::WindowFeed(std::shared_ptr<const RowTable> table, const WindowOrder& order, const Schedule& schedule,
                       const StreamPlace& place)
    : table_(std::move(table)),
      order_(order),
      schedule_(schedule),
      batch_bytes_(usual_batch_bytes(*table_, schedule)),
      maker_(std::make_shared<RowWindows>(table_, order)),
      windows_(maker_, one_by_one(order)),
      place_(place) {}

void WindowFeed::check_budget() const {
  if (!has_room()) DirectFeed(direct_batches(table_, order_, schedule_), schedule_, place_).check_budget();
}

// For two windows, what reads them, and a batch.
bool WindowFeed::has_room() const {
  const std::uint64_t bytes = 2 * round_up(maker_->traits().batch_bytes, page_bytes) + batch_bytes_ + least_slots_bytes;
  try {
    return static_cast<bool>(Budget::process().take(bytes, Purpose::read_ahead, maker_->traits().what));
  } catch (const BudgetError&) {
    return false;
  }
}

std::optional<RowBatch> WindowFeed::next_direct() {
  std::optional<RowBatch> batch = direct_->next();
  const std::lock_guard lock(mutex_);
  place_ = direct_->place(0);
  return batch;
}

std::optional<RowBatch> WindowFeed::next() {
  const Turn::Held mine = turn_.take("the next batch of a loader");
  if (!direct_ && !window_ && !has_room()) {
    auto direct = std::make_unique<DirectFeed>(direct_batches(table_, order_, schedule_), schedule_, place_);
    const std::lock_guard lock(mutex_);
    direct_ = std::move(direct);
  }
  if (direct_) return next_direct();
  Step step;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(place_.loop_ended, false)) return std::nullopt;
    step = schedule_.step(place_.position);
    if (step.begin == step.end) {
      place_ = {step.next, false};
      return std::nullopt;  // this rank has no part in the end of the loop
    }
    if (last_batch_ == std::chrono::steady_clock::time_point{}) last_batch_ = std::chrono::steady_clock::now();
  }
  RowBatch batch = cut(step.begin, step.end);
  const std::lock_guard lock(mutex_);
  place_ = {step.next, step.ends_loop};
  ++counts_.batch_count;
  counts_.sample_count += step.end - step.begin;
  const auto now = std::chrono::steady_clock::now();
  counts_.elapsed_s += std::chrono::duration<double>(now - last_batch_).count();
  last_batch_ = now;
  return batch;
}

void WindowFeed::reach(std::uint64_t window) {
  if (window_ && window_->window().number == window) return;
  // The first windows are admitted beside a batch, so that a budget too small for both is told before anything is read.
  Lease room;
  if (!window_)
    room = Budget::process().take(batch_bytes_, Purpose::results, "a batch beside " + maker_->traits().what);
  window_.reset();
  if (windows_.place().position != window) windows_.seek(window);
  window_.emplace(table_, order_, windows_.next().value());
}

RowBatch WindowFeed::cut(std::uint64_t begin, std::uint64_t end) {
  std::vector<RowBatch> parts;
  while (begin < end) {
    reach(order_.window_at(begin));
    const std::uint64_t to = std::min(end, window_->window().end);
    parts.push_back(cut_window(begin, to));
    begin = to;
  }
  return parts.size() == 1 ? std::move(parts.front()) : join(parts);
}

std::vector<std::uint64_t> WindowFeed::count_values(const std::vector<std::uint64_t>& places) const {
  std::vector<std::uint64_t> counts;
  for (std::size_t i = 0; i < table_->columns().size(); ++i) {
    const TableColumn& column = table_->columns()[i];
    if (!column.offsets) continue;
    std::uint64_t bytes = 0;
    for (const std::uint64_t place : places) bytes += window_->record(i, counts.size(), place).size();
    counts.push_back(bytes / itemsize(column.dtype()));
  }
  return counts;
}

RowBatch WindowFeed::cut_window(std::uint64_t begin, std::uint64_t end) {
  std::vector<std::uint64_t> places;
  order_.mix(window_->window(), begin, end, places);
  const RowLayout layout = table_->layout(places.size(), count_values(places), places.size() + 1);
  const Buffer memory = new_memory(layout.bytes);
  std::byte* data = memory.data();
  std::size_t number = 0;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const TableColumn& column = table_->columns()[i];
    std::byte* to = data + layout.columns[i].values_at;
    if (!column.offsets) {
      if (column.row_bytes == 0) continue;
      for (const std::uint64_t place : places) {
        std::memcpy(to, window_->row(i, place), column.row_bytes);
        to += column.row_bytes;
      }
      continue;
    }
    std::int64_t* offset = offsets_in(data, layout.columns[i]);
    *offset = 0;
    for (const std::uint64_t place : places) {
      const std::span<const std::byte> record = window_->record(i, number, place);
      if (!record.empty()) std::memcpy(to, record.data(), record.size());
      to += record.size();
      offset[1] = offset[0] + static_cast<std::int64_t>(record.size() / itemsize(column.dtype()));
      ++offset;
    }
    ++number;
  }
  interrupt_point();
  for (std::uint64_t& place : places) place = window_->row_number(place);
  return table_->batch(layout, memory.owner(), data, std::move(places));
}

RowBatch WindowFeed::join(const std::vector<RowBatch>& parts) const {
  std::vector<std::uint64_t> rows, value_counts;
  for (const RowBatch& part : parts) rows.insert(rows.end(), part.rows.begin(), part.rows.end());
  for (std::size_t i = 0; i < table_->columns().size(); ++i) {
    if (!table_->columns()[i].offsets) continue;
    std::uint64_t& count = value_counts.emplace_back(0);
    for (const RowBatch& part : parts) count += static_cast<std::uint64_t>(part.columns[i].size());
  }
  const RowLayout layout = table_->layout(rows.size(), value_counts, rows.size() + 1);
  const Buffer memory = new_memory(layout.bytes);
  std::byte* data = memory.data();
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    std::byte* to = data + layout.columns[i].values_at;
    std::int64_t* offset = table_->columns()[i].offsets ? offsets_in(data, layout.columns[i]) : nullptr;
    if (offset != nullptr) *offset = 0;
    for (const RowBatch& part : parts) {
      const std::uint64_t bytes = part.columns[i].size_bytes();
      if (bytes > 0) std::memcpy(to, part.columns[i].data(), bytes);
      to += bytes;
      if (offset == nullptr) continue;
      const auto ends = part.offsets[i].as<std::int64_t>().subspan(1);
      const std::int64_t base = *offset;
      for (const std::int64_t end : ends) *++offset = base + end;
    }
  }
  return table_->batch(layout, memory.owner(), data, std::move(rows));
}

StreamPlace WindowFeed::place(std::uint64_t ahead) const {
  const std::lock_guard lock(mutex_);
  return schedule_.after(place_, ahead);
}

void WindowFeed::begin_loop() {
  const Turn::Held mine = turn_.take("a new loop of a loader");
  if (direct_) direct_->begin_loop();
  const std::lock_guard lock(mutex_);
  place_ = schedule_.loop_begin(place_);
}

std::optional<std::uint64_t> WindowFeed::batches_left() const {
  const std::lock_guard lock(mutex_);
  return schedule_.batches_left(place_);
}

void WindowFeed::stop() {
  const Turn::Held mine = turn_.take("stopping a loader");
  window_.reset();
  windows_.stop();
  if (!direct_) return;
  std::unique_ptr<DirectFeed> ended;  // after the lock is gone: it waits for reads in flight
  const std::lock_guard lock(mutex_);
  add(counts_, direct_->stats());
  ended = std::move(direct_);  // there may be room for windows when it is asked for a batch again
}

LoaderStats WindowFeed::stats() const {
  LoaderStats stats = windows_.stats();
  const std::lock_guard lock(mutex_);
  stats.batch_count = counts_.batch_count;
  stats.sample_count = counts_.sample_count;
  stats.elapsed_s = counts_.elapsed_s;
  if (direct_) add(stats, direct_->stats());
  return stats;
}

}  // namespace lowtide
