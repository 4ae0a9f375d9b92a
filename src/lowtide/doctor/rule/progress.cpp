#include "lowtide/doctor/rule/progress.h"

#include <algorithm>

namespace lowtide::doctor {
namespace {

constexpr double least_steps = 10, least_share_of_half = 0.2;

}  // namespace

Progress::Progress(const Timeline& timeline) {
  const auto sort_by_time = [&] {
    std::stable_sort(counts_.begin(), counts_.end(),
                     [](const Count& a, const Count& b) { return a.time_s < b.time_s; });
  };
  if (!timeline.marks.empty()) {
    for (const Mark& mark : timeline.marks) counts_.push_back({mark.time_s, 0});
    sort_by_time();
    const double of_mark = static_cast<double>(timeline.step_count) / static_cast<double>(counts_.size());
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i].steps = of_mark * static_cast<double>(i + 1);
    return;
  }
  const auto most = std::max_element(timeline.agents.begin(), timeline.agents.end(),
                                     [](const AgentSample& a, const AgentSample& b) { return a.steps < b.steps; });
  if (most == timeline.agents.end() || most->steps == 0) return;
  for (const AgentSample& a : timeline.agents) {
    if (a.pid == most->pid && a.python) counts_.push_back({a.time_s, static_cast<double>(a.steps)});
  }
  sort_by_time();
}

double Progress::steps_until(double time_s) const {
  const auto after = std::upper_bound(counts_.begin(), counts_.end(), time_s,
                                      [](double t, const Count& count) { return t < count.time_s; });
  if (after == counts_.begin()) return 0;
  const Count& before = *(after - 1);
  if (after == counts_.end()) return before.steps;
  return before.steps + (after->steps - before.steps) * (time_s - before.time_s) / (after->time_s - before.time_s);
}

void Progress::choose(double from_s, double to_s) {
  const double begin = steps_until(from_s), middle = steps_until(0.5 * (from_s + to_s)), end = steps_until(to_s);
  const double least = least_share_of_half * (end - begin);
  in_steps_ = end - begin >= least_steps && middle - begin >= least && end - middle >= least;
}

}  // namespace lowtide::doctor
