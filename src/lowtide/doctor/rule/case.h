// A timeline made ready for rules: the part of it that counts, two low points to compare, and what each process grew by.
//
//   Case facts(timeline);
//   for (const Change& change : facts.changes) …         // processes that were there at both points, or came between
//   facts.trend_of_anon(change.pid).growing
//
// Thread-safe after construction. Holds references into the timeline.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/doctor/rule/progress.h"
#include "lowtide/doctor/rule/trend.h"
#include "lowtide/doctor/timeline/timeline.h"

namespace lowtide::doctor {

// A process between the two points. `born`: it was not there at the first; `before` is then its first look.
struct Change {
  int pid = 0;
  bool born = false, gone = false;
  ProcessSample before, after;
  std::int64_t anon() const {
    return static_cast<std::int64_t>(after.anon + after.swap) - static_cast<std::int64_t>(before.anon + before.swap);
  }
};

class Case {
 public:
  explicit Case(const Timeline& timeline);

  bool enough() const { return samples_.size() >= 4; }
  const Sample& first() const { return *samples_[from_]; }
  const Sample& last() const { return *samples_[to_]; }
  const std::vector<Change>& changes() const { return changes_; }
  double total(const Sample& sample) const;        // what the table adds up to
  bool own_cgroup() const { return own_cgroup_; }  // total is the cgroup's charge
  double start_s() const { return samples_.front()->time_s; }
  double seconds() const { return last().time_s - first().time_s; }
  std::uint64_t steps_between() const;
  bool grew_at_once() const;  // nearly all of the growth came in the first quarter: the program was still starting

  // From first() on, over progress (progress.h).
  Trend trend(const std::function<double(const Sample&)>& value) const;
  Trend trend_of_anon(int pid) const;
  bool in_use_grows(int pid) const;  // private memory, with or without what its allocators keep, and to the end
  double bytes_per_second() const;   // the slope of total()

  // A number that agents of a process said, at a time, between the two records around it. Nothing where none said it.
  using Field = std::function<std::optional<double>(const AgentSample&)>;
  std::optional<double> said(int pid, double time_s, const Field& field) const;
  std::optional<double> grew(const Change& change, const Field& field) const;  // between the two points
  // When the last census before the first point, and the last of all, were taken; nothing where there are not two.
  std::optional<std::pair<double, double>> census_span(int pid) const;
  const AgentSample* last_census(int pid) const;
  const AgentSample* last_stacks(int pid) const;
  const AgentSample* gc_probe(int pid) const;  // a record that says what gc.collect() gave back
  const Timeline& timeline() const { return timeline_; }

 private:
  using Value = std::function<std::optional<double>(const Sample&)>;
  void choose_window();
  double time_to_begin(double first_s, double last_s) const;
  void find_changes();
  bool counting(int pid, double time_s) const;  // a census was under way
  Trend trend_over(int pid, const Value& value) const;
  const Timeline& timeline_;
  Progress progress_;
  std::vector<const Sample*> samples_;  // until the program's own code had ended
  std::map<int, std::vector<const AgentSample*>> agents_;
  std::vector<Change> changes_;
  std::size_t from_ = 0, to_ = 0;
  bool own_cgroup_ = false;
};

// What growth must exceed to be spoken of.
double least_growth(double level_bytes);

}  // namespace lowtide::doctor
