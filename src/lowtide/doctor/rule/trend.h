// Whether numbers over time grow, robustly: medians of slopes and a change point, never two points.
//
//   Trend trend = trend_of(times, values, least);      // times: seconds, or steps
//   trend.growing            // still, at the end
//   trend.change             // where the last regime begins
//
// Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lowtide::doctor {

// The median of the slopes between all pairs (Theil–Sen); of at most 300 evenly chosen points. 0 for fewer than two.
double theil_sen(std::span<const double> times, std::span<const double> values);

// The index at which two lines, one before and one after, fit best; 0 where they fit hardly better than one.
std::size_t change_point(std::span<const double> times, std::span<const double> values);

// The low points: the least value of each of `count` equal spans of time, with its index. A sawtooth becomes its floor.
std::vector<std::size_t> low_points(std::span<const double> times, std::span<const double> values, std::size_t count);

struct Trend {
  bool growing = false;           // in the last half, by low points and by slope
  bool rises_to_the_end = false;  // the last third of that half still does, at whatever pace the others had
  double slope = 0;               // of the last half's low points, per unit of time
  std::size_t change = 0;         // where the last regime begins
};
// `least` is what growth over the last half must exceed to count.
Trend trend_of(std::span<const double> times, std::span<const double> values, double least);

}  // namespace lowtide::doctor
