#include "lowtide/doctor/rule/case.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lowtide/base/units.h"

namespace lowtide::doctor {
namespace {

constexpr std::size_t fewest_looks = 12;  // for a part of a run to speak for all of it
constexpr double settling_share = 0.12;   // of a run whose loop nobody marked: starting up

std::uint64_t sum(const Sample& s, std::uint64_t ProcessSample::* field) {
  std::uint64_t total = 0;
  for (const ProcessSample& p : s.processes) total += p.*field;
  return total;
}

std::uint64_t unmapped_cache(const Sample& s) {
  std::uint64_t bytes = 0;
  for (const FileSample& f : s.files) bytes += f.cached - std::min(f.cached, f.mapped);
  return bytes;
}

}  // namespace

double least_growth(double level_bytes) { return std::max(static_cast<double>(4_MiB), 0.01 * level_bytes); }

Case::Case(const Timeline& timeline) : timeline_(timeline), progress_(timeline) {
  double exiting_s = INFINITY;
  for (const AgentSample& a : timeline.agents) {
    agents_[a.pid].push_back(&a);
    if (a.exiting && a.pid == timeline.pid) exiting_s = std::min(exiting_s, a.time_s);
  }
  for (auto& [pid, records] : agents_)
    std::stable_sort(records.begin(), records.end(),
                     [](const auto* a, const auto* b) { return a->time_s < b->time_s; });
  for (const Sample& s : timeline.samples) {
    const bool root_there = std::any_of(s.processes.begin(), s.processes.end(), [&](const auto& p) {
      return (p.pid == timeline.pid || timeline.pid == 0) && p.anon + p.file > 0;
    });
    if (root_there && s.time_s <= exiting_s) samples_.push_back(&s);
  }
  if (!enough()) return;
  own_cgroup_ = std::all_of(samples_.begin() + 1, samples_.end(), [](const Sample* s) { return s->cgroup.own; });
  choose_window();
  find_changes();
}

bool Case::counting(int pid, double time_s) const {
  const auto records = agents_.find(pid);
  return records != agents_.end() && std::any_of(records->second.begin(), records->second.end(), [&](const auto* a) {
           return a->census_s > 0 && time_s > a->time_s && time_s <= a->time_s + a->census_s;
         });
}

double Case::total(const Sample& s) const {
  if (own_cgroup_) return static_cast<double>(s.cgroup.usage);
  const std::uint64_t shm = std::max(s.shm_of_tree, sum(s, &ProcessSample::pss_shmem));
  return static_cast<double>(sum(s, &ProcessSample::pss_anon) + sum(s, &ProcessSample::swap_pss) +
                             sum(s, &ProcessSample::pss_file) + sum(s, &ProcessSample::page_tables) +
                             unmapped_cache(s) + shm);
}

// Where a program takes down at its end what it had: the last look before, or the last of all. Nothing like it came before.
std::size_t end_of_work(const std::vector<double>& times, const std::vector<double>& values, std::size_t begin) {
  const std::size_t last = values.size() - 1;
  const auto peak_at = std::max_element(values.begin() + static_cast<std::ptrdiff_t>(begin), values.end());
  const auto peak = static_cast<std::size_t>(peak_at - values.begin());
  const double fall = *peak_at - values[last];
  if (peak == last || times[peak] < times.front() + 0.7 * (times[last] - times.front())) return last;
  if (fall < 0.3 * (*peak_at - values[begin]) || fall < static_cast<double>(4_MiB)) return last;
  double top = values[begin], deepest = 0;
  for (std::size_t i = begin; i <= peak; ++i)
    top = std::max(top, values[i]), deepest = std::max(deepest, top - values[i]);
  return deepest < 0.5 * fall ? peak : last;
}

// By looks during which no census was under way: that takes memory itself.
void Case::choose_window() {
  std::vector<std::size_t> looks;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    if (!counting(timeline_.pid, samples_[i]->time_s)) looks.push_back(i);
  }
  if (looks.size() < 4) looks.resize(samples_.size()), std::iota(looks.begin(), looks.end(), std::size_t{0});
  std::vector<double> times, values;
  for (const std::size_t i : looks) times.push_back(samples_[i]->time_s), values.push_back(total(*samples_[i]));
  const double begin_s = time_to_begin(times.front(), times.back());
  std::size_t begin = static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), begin_s) - times.begin());
  begin = std::min(begin, looks.size() - 3);
  if (const std::size_t end = end_of_work(times, values, begin); end >= begin + 3 && end + 1 < looks.size()) {
    samples_.resize(looks[end] + 1);
    looks.resize(end + 1), times.resize(end + 1), values.resize(end + 1);
  }
  progress_.choose(times[begin], times.back());
  std::vector<double> places;
  for (const double time : times) places.push_back(progress_.at(time));
  const auto tail = [&](const std::vector<double>& all) { return std::span(all).subspan(begin); };
  const Trend trend = trend_of(tail(places), tail(values), least_growth(values.back()));
  const std::size_t count = looks.size() - begin;
  if (trend.growing && trend.change != 0 && trend.change < count * 6 / 10 && count - trend.change >= fewest_looks)
    begin += trend.change;
  const std::vector<std::size_t> lows = low_points(tail(times), tail(values), 16);
  from_ = std::min(looks[lows.empty() ? begin : begin + lows.front()], samples_.size() - 2);
  to_ = std::max(looks[lows.empty() ? begin : begin + lows.back()], from_ + 1);
}

double Case::time_to_begin(double first_s, double last_s) const {
  if (!timeline_.marks.empty()) return timeline_.marks.front().time_s;
  // The Python side takes its first census when nothing more is imported: until then the program is loading.
  double loaded_s = first_s;
  if (const auto own = agents_.find(timeline_.pid); own != agents_.end()) {
    const auto first =
        std::find_if(own->second.begin(), own->second.end(), [](const AgentSample* a) { return a->has_census; });
    if (first != own->second.end()) loaded_s = std::clamp((*first)->time_s, first_s, 0.5 * (first_s + last_s));
  }
  return loaded_s + settling_share * (last_s - loaded_s);
}

void Case::find_changes() {
  std::map<int, const ProcessSample*> before, after, sight;
  for (const ProcessSample& p : first().processes) before[p.pid] = &p;
  for (const ProcessSample& p : last().processes) after[p.pid] = &p;
  for (std::size_t i = from_; i <= to_; ++i) {
    for (const ProcessSample& p : samples_[i]->processes) sight.emplace(p.pid, &p);
  }
  for (const auto& [pid, p] : after) {
    const auto old = before.find(pid);
    Change change{pid, old == before.end(), false, *(old == before.end() ? sight[pid] : old->second), *p};
    changes_.push_back(std::move(change));
  }
  for (const auto& [pid, p] : before) {
    if (after.contains(pid)) continue;
    Change change{pid, false, true, *p, *p};
    changes_.push_back(std::move(change));
  }
}

bool Case::grew_at_once() const {
  const double begin = total(first()), growth = total(last()) - begin, until = first().time_s + 0.25 * seconds();
  for (std::size_t i = from_; i <= to_; ++i) {
    if (samples_[i]->time_s <= until && total(*samples_[i]) - begin > 0.9 * growth) return true;
  }
  return false;
}

std::uint64_t Case::steps_between() const {
  const double steps = progress_.steps_until(last().time_s) - progress_.steps_until(first().time_s);
  return static_cast<std::uint64_t>(std::clamp(steps, 0.0, 1e18));
}

Trend Case::trend_over(int pid, const Value& value) const {
  std::vector<double> places, values, places_at_rest, values_at_rest;
  for (std::size_t i = from_; i < samples_.size(); ++i) {
    const double time = samples_[i]->time_s;
    const auto v = value(*samples_[i]);
    if (!v) continue;
    places.push_back(progress_.at(time)), values.push_back(*v);
    if (!counting(pid, time)) places_at_rest.push_back(places.back()), values_at_rest.push_back(*v);
  }
  const double least = least_growth(total(last())) / 2;
  // Unless they end long before the run does: what was growing then may have stopped.
  const bool enough = places_at_rest.size() >= fewest_looks &&
                      places_at_rest.back() - places.front() >= 0.85 * (places.back() - places.front());
  return enough ? trend_of(places_at_rest, values_at_rest, least) : trend_of(places, values, least);
}

Trend Case::trend(const std::function<double(const Sample&)>& value) const {
  return trend_over(timeline_.pid, [&](const Sample& s) { return std::optional(value(s)); });
}

double Case::bytes_per_second() const {
  std::vector<double> times, values;
  for (std::size_t i = from_; i < samples_.size(); ++i)
    times.push_back(samples_[i]->time_s), values.push_back(total(*samples_[i]));
  return trend_of(times, values, 0).slope;
}

namespace {

std::optional<double> private_bytes(const Sample& s, int pid) {
  for (const ProcessSample& p : s.processes) {
    if (p.pid == pid) return static_cast<double>(p.anon + p.swap);
  }
  return std::nullopt;
}

}  // namespace

Trend Case::trend_of_anon(int pid) const {
  return trend_over(pid, [&](const Sample& s) { return private_bytes(s, pid); });
}

bool Case::in_use_grows(int pid) const {
  const Trend all = trend_of_anon(pid);
  if (all.growing || !all.rises_to_the_end) return all.growing;
  const Field kept = [](const AgentSample& a) -> std::optional<double> {
    if (!a.has_malloc) return std::nullopt;
    return static_cast<double>(a.malloc_held + a.pool_held);
  };
  const auto in_use = [&](const Sample& s) -> std::optional<double> {
    const auto bytes = private_bytes(s, pid), freed = said(pid, s.time_s, kept);
    if (!bytes || !freed) return std::nullopt;
    return *bytes - *freed;
  };
  return trend_over(pid, in_use).growing;
}

std::optional<double> Case::said(int pid, double time_s, const Field& field) const {
  const auto records = agents_.find(pid);
  if (records == agents_.end()) return std::nullopt;
  std::optional<double> before_value, after_value;
  double before_s = 0, after_s = 0;
  for (const AgentSample* a : records->second) {
    const std::optional<double> value = field(*a);
    if (!value) continue;
    if (a->time_s <= time_s) {
      before_value = value, before_s = a->time_s;
    } else {
      after_value = value, after_s = a->time_s;
      break;
    }
  }
  if (!before_value) return after_value;
  if (!after_value) return before_value;
  return *before_value + (*after_value - *before_value) * (time_s - before_s) / (after_s - before_s);
}

std::optional<double> Case::grew(const Change& change, const Field& field) const {
  const auto before = said(change.pid, first().time_s, field), after = said(change.pid, last().time_s, field);
  if (!before || !after) return std::nullopt;
  return *after - *before;
}

namespace {

template <class Wanted>
const AgentSample* last_where(const std::map<int, std::vector<const AgentSample*>>& agents, int pid, Wanted wanted) {
  const auto records = agents.find(pid);
  if (records == agents.end()) return nullptr;
  for (auto a = records->second.rbegin(); a != records->second.rend(); ++a) {
    if (wanted(**a)) return *a;
  }
  return nullptr;
}

}  // namespace

std::optional<std::pair<double, double>> Case::census_span(int pid) const {
  const auto records = agents_.find(pid);
  if (records == agents_.end()) return std::nullopt;
  std::optional<double> begin, end;
  for (const AgentSample* a : records->second) {
    if (!a->has_census || a->time_s > samples_.back()->time_s) continue;
    if (!begin || a->time_s <= first().time_s) begin = a->time_s;
    end = a->time_s;
  }
  if (!begin || *begin >= *end) return std::nullopt;
  return std::pair(*begin, *end);
}

const AgentSample* Case::last_census(int pid) const {
  return last_where(agents_, pid,
                    [](const AgentSample& a) { return a.has_census && !a.exiting && !a.holders.empty(); });
}

const AgentSample* Case::last_stacks(int pid) const {
  return last_where(agents_, pid, [](const AgentSample& a) { return !a.stacks.empty(); });
}

const AgentSample* Case::gc_probe(int pid) const {
  return last_where(agents_, pid, [](const AgentSample& a) { return a.gc_probed; });
}

}  // namespace lowtide::doctor
