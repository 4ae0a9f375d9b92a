// A line on the terminal for work that takes longer than a second: bytes, speed, time left, memory held against the budget.
//
//   ProgressBar bar(session.options, "x.npy");
//   bar.show(done_bytes, total_bytes);            // as often as you like; draws ten times a second
//
// Drawn on standard error if that is a terminal; gone when destroyed. Not thread-safe. Never blocks for long.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "lowtide/cli/session.h"

namespace lowtide::cli {

class ProgressBar {
 public:
  ProgressBar(const SharedOptions& options, std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::uint64_t done_bytes, std::uint64_t total_bytes);
  double seconds() const;  // since it was made

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool wanted_;
  bool visible_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point drawn_ = start_;
};

// "1.25 GiB/s"
std::string format_speed(std::uint64_t bytes, double seconds);
// "in 2.1 s, 1.25 GiB/s"; no speed where the time is too short to mean one.
std::string format_pace(std::uint64_t bytes, double seconds);

}  // namespace lowtide::cli
