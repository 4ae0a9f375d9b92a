// Where a loader's batches of rows come from: straight from the disk (row_batches.h), or cut out of windows (window_feed.h).
//
//   while (std::optional<RowBatch> batch = feed.next()) …      // nothing at the end of a loop; the next call begins the next loop
//   feed.place();                                               // behind the last batch that was handed out
//
// Thread-safe: every member; next() and stop() by one thread at a time, others wait. They block for the disk, interruptible; place() and
// stats() do not.
#pragma once

#include <cstdint>
#include <optional>

#include "lowtide/loader/prefetch/batch_stream.h"
#include "lowtide/row_loader.h"

namespace lowtide {

class RowFeed {
 public:
  virtual ~RowFeed() = default;
  virtual std::optional<RowBatch> next() = 0;
  virtual void begin_loop() = 0;
  virtual StreamPlace place(std::uint64_t ahead = 0) const = 0;
  virtual std::optional<std::uint64_t> batches_left() const = 0;
  virtual void stop() = 0;  // gives all memory back; next() starts again
  virtual LoaderStats stats() const = 0;
  virtual void check_budget() const = 0;  // throws BudgetError, as next() would from a standstill
};

}  // namespace lowtide
