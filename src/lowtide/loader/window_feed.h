// Batches cut out of mixed windows: the windowed shuffle.
//
//   WindowFeed feed(table, order, schedule, place);
//   while (std::optional<RowBatch> batch = feed.next()) …
//
// One window is cut while the next is read; a batch may have rows of both, and of two epochs. Ranks have slices of the same mixed
// windows, so each of them reads every window it has a row in: with few rows a step, all of them.
//
// Thread-safe: every member; next() by one thread at a time, others wait. Blocks for the disk, interruptible.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lowtide/loader/batch_stream.h"
#include "lowtide/loader/row_feed.h"
#include "lowtide/loader/row_table.h"
#include "lowtide/loader/row_windows.h"
#include "lowtide/loader/window_order.h"

namespace lowtide {

class WindowFeed final : public RowFeed {
 public:
  WindowFeed(std::shared_ptr<const RowTable> table, const WindowOrder& order, const Schedule& schedule,
             const StreamPlace& place);

  std::optional<RowBatch> next() override;
  StreamPlace place(std::uint64_t ahead) const override;
  void stop() override;
  LoaderStats stats() const override;
  void check_budget() const override;

 private:
  void reach(std::uint64_t window);
  RowBatch cut(std::uint64_t begin, std::uint64_t end);
  RowBatch cut_window(std::uint64_t begin, std::uint64_t end);
  RowBatch join(const std::vector<RowBatch>& parts) const;
  std::vector<std::uint64_t> count_values(const std::vector<std::uint64_t>& places) const;

  std::shared_ptr<const RowTable> table_;
  WindowOrder order_;
  Schedule schedule_;
  std::uint64_t batch_bytes_;  // of a usual batch
  std::shared_ptr<RowWindows> maker_;

  mutable std::mutex mutex_;
  BatchStream windows_;
  StreamPlace place_;
  std::optional<LoadedWindow> window_;  // the one at hand
  LoaderStats counts_;                  // of batches; the rest is the stream's
  std::chrono::steady_clock::time_point last_batch_{};
};

}  // namespace lowtide
