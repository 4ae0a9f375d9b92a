// Which shuffle suits some arrays, and why.
//
//   ShuffleReport plan = plan_shuffle(table, {.shuffle = Shuffle::automatic}, budget());
//   plan.kind; plan.run_rows; plan.window_rows; plan.reason;
//
// Automatic: global, if at least a quarter of what reading row by row costs is rows. A request counts as 12 KiB beside what it brings,
// so a single array needs rows of 4 KiB; labels beside wide rows cost little and change nothing.
//
// Thread-safe: pure.
#pragma once

#include <cstdint>
#include <string>

#include "lowtide/loader/order/window_order.h"
#include "lowtide/loader/rows/row_table.h"
#include "lowtide/row_loader.h"

namespace lowtide {

struct ShuffleWish {
  Shuffle shuffle = Shuffle::automatic;
  std::uint64_t window_rows = 0;  // of a windowed one; 0: from the budget
};

// Throws std::invalid_argument for window_rows without a windowed shuffle. REQUIRES: rows.
ShuffleReport plan_shuffle(const RowTable& table, const ShuffleWish& wish, std::uint64_t budget_bytes);

// A windowed shuffle of given windows, as a state has them.
ShuffleReport describe_windows(const WindowOptions& options, std::string reason);

}  // namespace lowtide
