#include "lowtide/loader/order/window_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lowtide/base/checked.h"

namespace lowtide {
namespace {

// Rows are mixed, and the last of them put somewhere, by other keys than runs.
constexpr std::uint64_t mix_key = 0xA0761D6478BD642Fu, tail_key = 0xE7037ED1A0B428DBu;

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
  return most_runs * options_.run_rows + options_.row_count % options_.run_rows;
}

std::uint64_t WindowOrder::tail_window(std::uint64_t epoch) const {
  return Permutation(window_count_, options_.seed ^ tail_key, epoch)(0);
}

std::uint64_t WindowOrder::window_at(std::uint64_t position) const {
  const std::uint64_t epoch = position / options_.row_count;
  std::uint64_t place = position % options_.row_count;
  if (const std::uint64_t tail_rows = options_.row_count % options_.run_rows; tail_rows > 0) {
    const std::uint64_t with_tail = tail_window(epoch);
    const std::uint64_t tail_begin = first_run(with_tail + 1) * options_.run_rows;
    if (place >= tail_begin && place < tail_begin + tail_rows) return epoch * window_count_ + with_tail;
    if (place >= tail_begin) place -= tail_rows;
  }
  const std::uint64_t run = place / options_.run_rows;
  return epoch * window_count_ + static_cast<std::uint64_t>(((Wide{run} + 1) * window_count_ - 1) / run_count_);
}

Window WindowOrder::window(std::uint64_t number) const {
  const std::uint64_t in_epoch = number % window_count_;
  Window window;
  window.number = number;
  window.epoch = number / window_count_;
  window.first_run = first_run(in_epoch);
  window.run_count = first_run(in_epoch + 1) - window.first_run;
  const std::uint64_t tail_rows = options_.row_count % options_.run_rows;
  const std::uint64_t with_tail = tail_rows > 0 ? tail_window(window.epoch) : window_count_;
  window.tail_rows = in_epoch == with_tail ? tail_rows : 0;
  window.begin =
      window.epoch * options_.row_count + window.first_run * options_.run_rows + (in_epoch > with_tail ? tail_rows : 0);
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

void WindowOrder::rows(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& rows) const {
  rows.clear();
  rows.reserve(end - begin);
  std::vector<std::uint64_t> places;
  while (begin < end) {
    const Window window = this->window(window_at(begin));
    const std::vector<RecordRange> runs = this->runs(window);
    const std::uint64_t to = std::min(end, window.end);
    mix(window, begin, to, places);
    for (const std::uint64_t place : places)
      rows.push_back(runs[place / options_.run_rows].first + place % options_.run_rows);
    begin = to;
  }
}

// Of the w - 1 pairs of neighbours in a window of w rows, each is of one run with odds Σ r (r - 1) / (w (w - 1)); none is where two
// windows meet.
double WindowOrder::same_run() const {
  if (options_.row_count < 2) return 0;
  double expected = 0;
  const auto full = static_cast<double>(window_count_ - 1);
  expected += full * static_cast<double>(options_.run_rows - 1);
  const std::uint64_t tail_rows = options_.row_count % options_.run_rows;
  const double runs = static_cast<double>(run_count_) / static_cast<double>(window_count_);
  const double of_last = runs * pairs(options_.run_rows) + pairs(tail_rows);
  expected += of_last / (runs * static_cast<double>(options_.run_rows) + static_cast<double>(tail_rows));
  return expected / static_cast<double>(options_.row_count - 1);
}

double WindowOrder::ideal_same_run() const {
  if (options_.row_count < 2) return 0;
  const double same =
      static_cast<double>(run_count_) * pairs(options_.run_rows) + pairs(options_.row_count % options_.run_rows);
  return same / pairs(options_.row_count);
}

}  // namespace lowtide
