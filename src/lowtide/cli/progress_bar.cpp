#include "lowtide/cli/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "lowtide/budget.h"
#include "lowtide/cli/terminal.h"

namespace lowtide::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto silent_for = 1s;
constexpr auto redraw_every = 100ms;

// "1:05", "2:00:00": what is left if it goes on as it went; "-:--" before anything is done.
std::string format_left(double part, double seconds) {
  constexpr double longest = 100 * 3600;
  const double left = part > 0 ? std::ceil(seconds / part - seconds) : longest;
  if (left >= longest) return "-:--";
  const auto whole = static_cast<int>(std::max(left, 0.0));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string out;
  while (count-- > 0) out += text;
  return out;
}

}  // namespace

ProgressBar::ProgressBar(const SharedOptions& options, std::string label)
    : label_(std::filesystem::path(std::move(label)).filename().string()),
      wanted_(!options.quiet && is_terminal(stderr)) {}

ProgressBar::~ProgressBar() {
  if (visible_) std::fputs("\r\x1b[K", stderr);
}

double ProgressBar::seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

void ProgressBar::show(std::uint64_t done_bytes, std::uint64_t total_bytes) {
  const auto now = Clock::now();
  if (!wanted_ || now - start_ < silent_for || now - drawn_ < redraw_every) return;
  drawn_ = now;
  visible_ = true;
  const double part = total_bytes == 0 ? 1 : static_cast<double>(done_bytes) / static_cast<double>(total_bytes);
  const Usage used = usage();
  // Of a fixed width while the sizes are what they usually are: a bar that jumps is hard to read.
  const std::string figures =
      fmt::format(" {:>3.0f}%  {:>9} of {}  {}  {} left  {} of {} held", 100 * part, format_bytes(done_bytes),
                  format_bytes(total_bytes), format_speed(done_bytes, seconds()), format_left(part, seconds()),
                  format_bytes(used.held_bytes), format_bytes(used.limit_bytes));
  // The name gives way first, then the bar; the figures stay. A full line would wrap on some terminals: one column is left.
  const std::size_t columns = terminal_columns(stderr) - 1;
  const std::size_t room = columns > figures.size() ? columns - figures.size() : 0;
  const std::size_t bar_width = std::min<std::size_t>(room, 12);
  const std::string name = label_.size() + 1 + bar_width <= room ? label_ + " " : "";
  const auto filled = std::min(bar_width, static_cast<std::size_t>(part * static_cast<double>(bar_width)));
  const std::string line = fmt::format("\r\x1b[K{}{}{}{}", name, repeated("█", filled),
                                       repeated("·", bar_width - filled), std::string_view(figures).substr(0, columns));
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

std::string format_speed(std::uint64_t bytes, double seconds) {
  const double gib = static_cast<double>(bytes) / std::max(seconds, 1e-9) / (1 << 30);
  return fmt::format("{:.{}f} GiB/s", gib, gib < 0.1 ? 3 : 2);
}

std::string format_pace(std::uint64_t bytes, double seconds) {
  if (seconds < 0.1) return "in less than 0.1 s";
  return fmt::format("in {:.1f} s, {}", seconds, format_speed(bytes, seconds));
}

}  // namespace lowtide::cli
