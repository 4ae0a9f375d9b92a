#include "lowtide/loader/rows/shuffle_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lowtide/base/units.h"
#include "lowtide/transfer/walk.h"

namespace lowtide {
namespace {

// Reading row by row is bound by requests up to rows of 4 KiB or so (`python -m benchmarks row_batches` compares the two shuffles). A
// request costs as much as 15 to 26 KiB of a long read; less is assumed, since a global shuffle is the better one.
constexpr std::uint64_t request_bytes = 12_KiB;
constexpr std::uint64_t least_useful = 4;  // one byte in so many, for a shuffle row by row
constexpr std::uint64_t run_bytes = 128_KiB;
// Two windows are held, so a loader takes a quarter of the budget, and there is room for another one (train and val). What fits twice
// into half of it is mixed as a whole.
constexpr std::uint64_t window_parts = 8, whole_parts = 4;
constexpr std::uint64_t most_window_bytes = 256_MiB;  // 2048 runs

// What the disk is asked for to bring one row.
struct RowCost {
  std::uint64_t request_count = 0, bytes = 0;
  std::uint64_t with_requests() const { return bytes + request_count * request_bytes; }
};

RowCost cost_of(const TableColumn& column) {
  if (column.row_bytes == 0) return {};
  if (column.kind == TableColumn::Kind::records) return {2, column.row_bytes + 2 * sizeof(std::int64_t)};
  if (column.kind != TableColumn::Kind::general) return {1, column.row_bytes};
  const Selection row = column.selection.rows(0, 1);
  const Walk walk = make_walk(column.source->lower(row), dense_strides(row.shape(), itemsize(column.dtype())));
  const auto runs = static_cast<std::uint64_t>(walk.run_count);
  return {runs, runs * walk.run_span_bytes};
}

RowCost cost_of(const RowTable& table) {
  RowCost sum;
  for (const TableColumn& column : table.columns()) {
    const RowCost cost = cost_of(column);
    sum.request_count += cost.request_count;
    sum.bytes += cost.bytes;
  }
  return sum;
}

std::uint64_t run_rows_of(const RowTable& table) {
  std::uint64_t widest = 1;
  for (const TableColumn& column : table.columns()) widest = std::max(widest, column.row_bytes);
  return std::clamp<std::uint64_t>(run_bytes / widest, 1, table.row_count());
}

std::uint64_t window_row_bytes(const RowTable& table) {
  return std::max<std::uint64_t>(table.row_bytes() + table.record_columns() * sizeof(std::int64_t), 1);
}

ShuffleReport plan_windows(const RowTable& table, std::uint64_t window_rows, std::uint64_t budget_bytes,
                           const std::string& reason) {
  WindowOptions options{.row_count = table.row_count(), .run_rows = run_rows_of(table)};
  if (window_rows == 0) {
    const std::uint64_t window_bytes = std::min(budget_bytes / window_parts, most_window_bytes);
    window_rows = std::max(options.run_rows, window_bytes / window_row_bytes(table));
    if (table.row_count() <= budget_bytes / whole_parts / window_row_bytes(table)) window_rows = table.row_count();
  }
  options.window_rows = std::min(window_rows, options.row_count);
  options.run_rows = std::min(options.run_rows, options.window_rows);
  const std::string windows =
      options.window_rows == options.row_count
          ? fmt::format("all {} rows are mixed in one window", options.row_count)
          : fmt::format("{} rows ({}) in runs of {} are mixed at a time", options.window_rows,
                        format_bytes(options.window_rows * window_row_bytes(table)), options.run_rows);
  return describe_windows(options, reason.empty() ? windows : reason + ": " + windows);
}

ShuffleReport global(const RowTable& table, std::string reason) {
  ShuffleReport report;
  report.kind = Shuffle::global;
  report.reason = std::move(reason);
  report.window_rows = table.row_count();
  return report;
}

ShuffleReport choose(const RowTable& table, std::uint64_t budget_bytes) {
  const RowCost cost = cost_of(table);
  const std::string rows = fmt::format("a row is {} in {} {}", format_bytes(table.row_bytes()), cost.request_count,
                                       cost.request_count == 1 ? "place" : "places");
  if (table.row_bytes() * least_useful >= cost.with_requests()) return global(table, rows + ": worth reads of its own");
  return plan_windows(table, 0, budget_bytes, rows + ", too little for reads of its own");
}

}  // namespace

ShuffleReport describe_windows(const WindowOptions& options, std::string reason) {
  const WindowOrder order(options);
  ShuffleReport report;
  report.kind = Shuffle::windowed;
  report.reason = std::move(reason);
  report.run_rows = options.run_rows;
  report.window_rows = options.window_rows;
  report.same_run = order.same_run();
  report.ideal_same_run = order.ideal_same_run();
  return report;
}

ShuffleReport plan_shuffle(const RowTable& table, const ShuffleWish& wish, std::uint64_t budget_bytes) {
  if (wish.window_rows > 0 && wish.shuffle != Shuffle::windowed)
    throw std::invalid_argument("a window is for a windowed shuffle");
  switch (wish.shuffle) {
    case Shuffle::none: {
      ShuffleReport report;
      report.reason = "rows in the order of the arrays, as asked for";
      return report;
    }
    case Shuffle::global:
      return global(table, "as asked for");
    case Shuffle::windowed:
      return plan_windows(table, wish.window_rows, budget_bytes, "as asked for");
    case Shuffle::automatic:
      break;
  }
  return choose(table, budget_bytes);
}

}  // namespace lowtide
