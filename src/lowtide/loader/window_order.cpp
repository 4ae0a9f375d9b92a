#include "lowtide/loader/window_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lowtide/base/checked.h"

namespace lowtide {
namespace {

constexpr std::uint64_t mix_key = 0xA0761D6478BD642Fu;  // rows are mixed by other keys than runs

double pairs(std::uint64_t rows) {
  return static_cast<double>(rows) * static_cast<double>(rows - std::min<std::uint64_t>(rows, 1));
}

}  // namespace

WindowOrder::WindowOrder(const WindowOptions& options) : options_(options) {
  if (options.run_rows < 1 || options.run_rows > options.row_count || options.run_rows > options.window_rows) {
    throw std::invalid_argument(fmt::format("windows of {} rows in runs of {} cannot be made of {} rows",
                                            options.window_rows, options.run_rows, options.row_count));
  }
  run_count_ = options.row_count / options.run_rows;
  const std::uint64_t runs_at_most = options.window_rows / options.run_rows;
  window_count_ = run_count_ / runs_at_most + (run_count_ % runs_at_most > 0 ? 1 : 0);
}

std::uint64_t WindowOrder::first_run(std::uint64_t window) const {
  return static_cast<std::uint64_t>(Wide{window} * run_count_ / window_count_);
}

std::uint64_t WindowOrder::most_window_rows() const {
  const std::uint64_t most_runs = run_count_ / window_count_ + (run_count_ % window_count_ > 0 ? 1 : 0);
  const Window last = window(window_count_ - 1);
  return std::max(most_runs * options_.run_rows, last.row_count());
}

std::uint64_t WindowOrder::window_at(std::uint64_t position) const {
  const std::uint64_t epoch = position / options_.row_count;
  const std::uint64_t place = position % options_.row_count;
  const std::uint64_t run = std::min(place / options_.run_rows, run_count_ - 1);
  return epoch * window_count_ + static_cast<std::uint64_t>(((Wide{run} + 1) * window_count_ - 1) / run_count_);
}

Window WindowOrder::window(std::uint64_t number) const {
  const std::uint64_t in_epoch = number % window_count_;
  const bool last = in_epoch + 1 == window_count_;
  Window window;
  window.number = number;
  window.epoch = number / window_count_;
  window.first_run = first_run(in_epoch);
  window.run_count = first_run(in_epoch + 1) - window.first_run;
  window.tail_rows = last ? options_.row_count % options_.run_rows : 0;
  window.begin = window.epoch * options_.row_count + window.first_run * options_.run_rows;
  window.end = window.begin + window.run_count * options_.run_rows + window.tail_rows;
  return window;
}

std::vector<RecordRange> WindowOrder::runs(const Window& window) const {
  const Permutation order(run_count_, options_.seed, window.epoch);
  std::vector<RecordRange> runs;
  runs.reserve(window.run_count + 1);
  for (std::uint64_t i = 0; i < window.run_count; ++i) {
    const std::uint64_t first = order(window.first_run + i) * options_.run_rows;
    runs.push_back({first, first + options_.run_rows});
  }
  if (window.tail_rows > 0) runs.push_back({options_.row_count - window.tail_rows, options_.row_count});
  return runs;
}

void WindowOrder::mix(const Window& window, std::uint64_t begin, std::uint64_t end,
                      std::vector<std::uint64_t>& places) const {
  const Permutation mixed(window.row_count(), options_.seed ^ mix_key, window.number);
  places.clear();
  places.reserve(end - begin);
  for (std::uint64_t position = begin; position < end; ++position) places.push_back(mixed(position - window.begin));
}

// Of the w - 1 pairs of neighbours in a window of w rows, each is of one run with odds Σ r (r - 1) / (w (w - 1)); none is where two
// windows meet.
double WindowOrder::same_run() const {
  if (options_.row_count < 2) return 0;
  double expected = 0;
  const auto full = static_cast<double>(window_count_ - 1);
  expected += full * static_cast<double>(options_.run_rows - 1);
  const Window last = window(window_count_ - 1);
  const double of_last = static_cast<double>(last.run_count) * pairs(options_.run_rows) + pairs(last.tail_rows);
  expected += of_last / static_cast<double>(last.row_count());
  return expected / static_cast<double>(options_.row_count - 1);
}

double WindowOrder::ideal_same_run() const {
  if (options_.row_count < 2) return 0;
  const double same =
      static_cast<double>(run_count_) * pairs(options_.run_rows) + pairs(options_.row_count % options_.run_rows);
  return same / pairs(options_.row_count);
}

}  // namespace lowtide
