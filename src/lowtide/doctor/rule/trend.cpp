#include "lowtide/doctor/rule/trend.h"

#include <algorithm>
#include <cmath>

namespace lowtide::doctor {
namespace {

constexpr std::size_t most_points = 300, low_point_count = 16, least_points = 6;

// Of all pairs, those of which the later is larger (Kendall).
double rising_share(std::span<const double> values) {
  double pairs = 0, rising = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) pairs += 1, rising += values[j] > values[i];
  }
  return pairs == 0 ? 0 : rising / pairs;
}

// How much higher the floor of the last third of the time is than that of the first. Teeth that are longer than a span between two low
// points have low points anywhere; in a third there are several teeth.
double rise_of_floor(std::span<const double> times, std::span<const double> values) {
  const double begin = times.front(), third = (times.back() - begin) / 3;
  double first = INFINITY, last = INFINITY;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (times[i] <= begin + third) first = std::min(first, values[i]);
    if (times[i] >= begin + 2 * third) last = std::min(last, values[i]);
  }
  return last - first;
}

// The error of the best line through [begin, end), from sums kept so that each candidate is O(1).
struct Sums {
  double n = 0, t = 0, v = 0, tt = 0, tv = 0, vv = 0;
  void add(double time, double value) {
    n += 1, t += time, v += value, tt += time * time, tv += time * value, vv += value * value;
  }
  Sums minus(const Sums& o) const { return {n - o.n, t - o.t, v - o.v, tt - o.tt, tv - o.tv, vv - o.vv}; }
  double error() const {
    if (n < 2) return 0;
    const double spread = tt - t * t / n, co = tv - t * v / n, total = vv - v * v / n;
    return std::max(0.0, spread <= 0 ? total : total - co * co / spread);
  }
};

}  // namespace

double theil_sen(std::span<const double> times, std::span<const double> values) {
  const std::size_t stride = std::max<std::size_t>(1, values.size() / most_points);
  std::vector<double> slopes;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    for (std::size_t j = i + stride; j < values.size(); j += stride) {
      if (times[j] > times[i]) slopes.push_back((values[j] - values[i]) / (times[j] - times[i]));
    }
  }
  if (slopes.empty()) return 0;
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  return *middle;
}

std::size_t change_point(std::span<const double> times, std::span<const double> values) {
  const std::size_t count = values.size();
  if (count < 8) return 0;
  std::vector<Sums> upto(count + 1);
  for (std::size_t i = 0; i < count; ++i)
    upto[i + 1] = upto[i], upto[i + 1].add(times[i] - times[0], values[i] - values[0]);
  const double whole = upto[count].error();
  double best = whole;
  std::size_t at = 0;
  for (std::size_t i = 3; i + 3 <= count; ++i) {
    const double error = upto[i].error() + upto[count].minus(upto[i]).error();
    if (error < best) best = error, at = i;
  }
  return best < 0.5 * whole ? at : 0;
}

std::vector<std::size_t> low_points(std::span<const double> times, std::span<const double> values, std::size_t count) {
  std::vector<std::size_t> lows;
  if (values.empty()) return lows;
  const double begin = times.front(), span = times.back() - begin;
  for (std::size_t i = 0, part = 0; part < count && i < values.size(); ++part) {
    const double end =
        part + 1 == count ? INFINITY : begin + span * static_cast<double>(part + 1) / static_cast<double>(count);
    bool any = false;
    std::size_t low = i;
    for (; i < values.size() && times[i] < end; ++i) {
      if (!any || values[i] < values[low]) low = i;
      any = true;
    }
    if (any) lows.push_back(low);
  }
  return lows;
}

Trend trend_of(std::span<const double> times, std::span<const double> values, double least) {
  Trend trend;
  if (values.size() < least_points) return trend;
  std::vector<double> low_times, lows;
  const std::size_t spans = std::clamp<std::size_t>(values.size() / 2, 6, low_point_count);
  for (const std::size_t i : low_points(times, values, spans)) low_times.push_back(times[i]), lows.push_back(values[i]);
  const std::size_t half = lows.size() * 2 / 5;
  const std::span<const double> late_times = std::span(low_times).subspan(half), late = std::span(lows).subspan(half);
  trend.change = change_point(times, values);
  if (late.size() < 3) return trend;  // all samples within a few moments, or times that do not rise
  trend.slope = theil_sen(late_times, late);
  const double gain = trend.slope * (late_times.back() - late_times.front());
  // What fills slows down, and what steps up once has one third that grows: each third must keep its pace, and most pairs rise.
  const std::size_t third = std::max<std::size_t>(1, late.size() / 3), last = late.size() - 1;
  const auto rate = [&](std::size_t from, std::size_t to) {
    return (late[to] - late[from]) / (late_times[to] - late_times[from]);
  };
  const double first_rate = rate(0, third), last_rate = rate(last - third, last);
  trend.rises_to_the_end = gain > least && last_rate > 0.25 * trend.slope;
  trend.growing = trend.rises_to_the_end && last_rate > 0.35 * first_rate && first_rate > 0.2 * trend.slope &&
                  rising_share(late) > 0.8 && rise_of_floor(times, values) > 0.4 * gain;
  return trend;
}

}  // namespace lowtide::doctor
