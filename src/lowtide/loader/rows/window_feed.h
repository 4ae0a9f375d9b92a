// Batches cut out of mixed windows: the windowed shuffle.
//
//   WindowFeed feed(table, order, schedule, place);
//   while (std::optional<RowBatch> batch = feed.next()) …
//
// One window is cut while the next is read; a batch may have rows of both, and of two epochs. Where the budget has no room for two
// windows, rows are read one by one in the same order: slower, never refused. Ranks have slices of the same mixed
// windows, so each of them reads every window it has a row in: with few rows a step, all of them.
//
// Thread-safe: every member; next() and stop() by one thread at a time, others wait. They block for the disk, interruptible.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lowtide/loader/order/window_order.h"
#include "lowtide/loader/prefetch/batch_stream.h"
#include "lowtide/loader/rows/row_batches.h"
#include "lowtide/loader/rows/row_feed.h"
#include "lowtide/loader/rows/row_table.h"
#include "lowtide/loader/rows/row_windows.h"

namespace lowtide {

class WindowFeed final : public RowFeed {
 public:
  WindowFeed(std::shared_ptr<const RowTable> table, const WindowOrder& order, const Schedule& schedule,
             const StreamPlace& place);

  std::optional<RowBatch> next() override;
  void begin_loop() override;
  StreamPlace place(std::uint64_t ahead) const override;
  std::optional<std::uint64_t> batches_left() const override;
  void stop() override;
  LoaderStats stats() const override;
  void check_budget() const override;

 private:
  void reach(std::uint64_t window);
  bool has_room() const;
  std::optional<RowBatch> next_direct();
  RowBatch cut(std::uint64_t begin, std::uint64_t end);
  RowBatch cut_window(std::uint64_t begin, std::uint64_t end);
  RowBatch join(const std::vector<RowBatch>& parts) const;
  std::vector<std::uint64_t> count_values(const std::vector<std::uint64_t>& places) const;

  std::shared_ptr<const RowTable> table_;
  WindowOrder order_;
  Schedule schedule_;
  std::uint64_t batch_bytes_;  // of a usual batch
  std::shared_ptr<RowWindows> maker_;

  Turn turn_;  // who may change what comes next, and wait
  BatchStream windows_;
  std::optional<LoadedWindow> window_;  // the one at hand

  mutable ForkMutex mutex_{ForkRank::feed};  // guards what is below; never held across a wait
  std::unique_ptr<DirectFeed> direct_;       // where there is no room for windows; changed by who has the turn
  StreamPlace place_;
  LoaderStats counts_;  // of batches; the rest is the stream's
  std::chrono::steady_clock::time_point last_batch_{};
};

}  // namespace lowtide
