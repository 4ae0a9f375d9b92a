// The windowed shuffle as arithmetic: which row stands at which position of the stream.
//
//   WindowOrder order({.row_count = n, .run_rows = 1000, .window_rows = 64'000, .seed = 7});
//   Window window = order.window(order.window_at(position));
//   order.rows(window, position, end, …);
//
// Rows are cut into runs of neighbours; an epoch takes all runs in a random order, a window of them at a time, and takes the rows of a
// window in a random order. Rows behind the last whole run are in an epoch's last window. Runs are shared out evenly, so that no window
// is much smaller than the others: window_rows is the most that one has, but for those rows.
//
// Every row is there once an epoch. The stream is a function of the options and nothing else.
//
// Immutable; thread-safe: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "lowtide/loader/rows/row_records.h"
#include "lowtide/permutation.h"

namespace lowtide {

struct WindowOptions {
  std::uint64_t row_count = 1;
  std::uint64_t run_rows = 1, window_rows = 1;
  std::uint64_t seed = 0;
};

struct Window {
  std::uint64_t number = 0;  // counted through all epochs
  std::uint64_t epoch = 0;
  std::uint64_t begin = 0, end = 0;            // positions in the stream
  std::uint64_t first_run = 0, run_count = 0;  // in the epoch's order of runs; whole ones
  std::uint64_t tail_rows = 0;
  std::uint64_t row_count() const { return end - begin; }
};

class WindowOrder {
 public:
  // Throws std::invalid_argument unless 1 <= run_rows <= row_count and run_rows <= window_rows.
  explicit WindowOrder(const WindowOptions& options);

  const WindowOptions& options() const { return options_; }
  std::uint64_t window_count() const { return window_count_; }  // of an epoch
  std::uint64_t most_window_rows() const;
  std::uint64_t window_at(std::uint64_t position) const;
  Window window(std::uint64_t number) const;
  // The rows of a window in the order in which they are held, run by run; the tail is the last.
  std::vector<RecordRange> runs(const Window& window) const;
  // Which of them stands at a position: places[i] for begin + i. REQUIRES: within the window.
  void mix(const Window& window, std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& places) const;

  // The rows at any positions of the stream, for who has no window at hand: rows[i] for begin + i.
  void rows(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& rows) const;

  // The odds that the next row is from the same run, and those if any row might follow.
  double same_run() const;
  double ideal_same_run() const;

 private:
  std::uint64_t first_run(std::uint64_t window) const;   // of an epoch's windows; window_count() for the end
  std::uint64_t tail_window(std::uint64_t epoch) const;  // has the rows that are no whole run

  WindowOptions options_;
  std::uint64_t run_count_;
  std::uint64_t window_count_;
};

}  // namespace lowtide
