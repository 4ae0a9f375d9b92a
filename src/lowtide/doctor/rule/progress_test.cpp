#include "lowtide/doctor/rule/progress.h"

#include <gtest/gtest.h>

#include <functional>

#include "lowtide/base/units.h"
#include "lowtide/doctor/rule/verdict.h"

namespace lowtide::doctor {
namespace {

// A machine that others use: steps begin when they can, and looks are taken when they can.
struct Schedule {
  std::vector<double> steps_s, looks_s;
};

void every(std::vector<double>& times, double from_s, double to_s, double pause_s) {
  for (double t = from_s; t < to_s; t += pause_s) times.push_back(t);
}

// Steps of 50 ms, until the program hardly runs any more.
Schedule with_a_stall() {
  Schedule schedule;
  every(schedule.steps_s, 0.1, 2.2, 0.05);
  every(schedule.steps_s, 2.2, 3.6, 0.28);
  every(schedule.looks_s, 0.0, 2.2, 0.15);
  every(schedule.looks_s, 2.3, 3.6, 0.2);
  return schedule;
}
Schedule without_a_stall() {
  Schedule schedule;
  every(schedule.steps_s, 0.1, 3.1, 0.05);
  every(schedule.looks_s, 0.0, 3.1, 0.15);
  return schedule;
}

// Live arrays, and what malloc keeps, by steps done and by time. 1 MiB are 1.0.
Timeline run(
    const Schedule& schedule, const std::function<double(double steps)>& live,
    const std::function<double(double time_s)>& kept = [](double) { return 0.0; }) {
  Timeline timeline;
  timeline.pid = 10;
  const auto bytes = [](double count) { return static_cast<std::uint64_t>(count * static_cast<double>(1_MiB)); };
  for (const double time : schedule.steps_s) timeline.add_step(time);
  const Progress progress(timeline);
  for (const double time : schedule.looks_s) {
    AgentSample a;
    a.time_s = time, a.pid = 10, a.python = a.has_malloc = a.has_census = true;
    a.array_bytes = a.malloc_mmapped = bytes(live(progress.steps_until(time))), a.malloc_held = bytes(kept(time));
    a.holders.push_back({"list", "train.py:8 list 'kept'", "", 10, a.array_bytes});
    Sample s;
    s.time_s = time;
    ProcessSample p;
    p.pid = 10, p.exact = true, p.name = "program";
    p.anon = p.pss_anon = p.mapped = 90_MiB + a.array_bytes + a.malloc_held;
    s.processes.push_back(p);
    timeline.add(std::move(s));
    timeline.add(std::move(a));
  }
  return timeline;
}

double a_list(double steps) { return steps; }

TEST(Progress, StepsBetweenTwoMarksAreDividedByTime) {
  Timeline timeline;
  for (const double time : {1.0, 2.0, 4.0}) timeline.add_step(time);
  const Progress progress(timeline);
  EXPECT_EQ(progress.steps_until(0.5), 0);
  EXPECT_EQ(progress.steps_until(3), 2.5);
  EXPECT_EQ(progress.steps_until(9), 3);
}

TEST(Progress, WithoutMarksTheProcessThatCountsMostIsAsked) {
  Timeline timeline;
  for (int i = 0; i <= 20; ++i) {
    AgentSample a;
    a.time_s = i, a.pid = 10 + i % 2, a.python = true, a.steps = i % 2 == 0 ? 0 : static_cast<std::uint64_t>(10 * i);
    timeline.add(std::move(a));
  }
  EXPECT_EQ(Progress(timeline).steps_until(10), 100);
}

TEST(Progress, IsInSecondsWhereNobodyCounts) {
  Progress progress{Timeline()};
  progress.choose(0, 10);
  EXPECT_FALSE(progress.in_steps());
  EXPECT_EQ(progress.at(7), 7);
}

TEST(Progress, IsInSecondsWhereStepsAreNotSpreadOverTheTime) {
  Schedule schedule;
  every(schedule.steps_s, 0, 1, 0.01);
  every(schedule.steps_s, 1, 10, 1);
  const Timeline timeline = run(schedule, a_list);
  Progress progress(timeline);
  progress.choose(0, 10);
  EXPECT_FALSE(progress.in_steps());
  progress.choose(1, 11);
  EXPECT_FALSE(progress.in_steps());
}

TEST(Judge, AListThatGrowsIsALeakOnAMachineThatOthersUse) {
  const Verdict v = judge(run(with_a_stall(), a_list));
  EXPECT_TRUE(v.leak);
  EXPECT_EQ(v.kind, "objects");
  ASSERT_TRUE(v.per_step_bytes);
  EXPECT_NEAR(*v.per_step_bytes, 1_MiB, 0.1 * 1_MiB);
}

TEST(Judge, AnAllocatorThatGrowsAtOnceDoesNotHideAListThatGrows) {
  const Verdict v = judge(run(without_a_stall(), a_list, [](double time_s) { return time_s > 1.6 ? 30.0 : 0.0; }));
  EXPECT_TRUE(v.leak);
  EXPECT_EQ(v.kind, "objects");
  ASSERT_TRUE(v.per_step_bytes);
  EXPECT_NEAR(*v.per_step_bytes, 1_MiB, 0.1 * 1_MiB);
}

TEST(Judge, GrowthThatStopsIsNoLeakOnAMachineThatOthersUse) {
  for (const double until : {10.0, 20.0, 30.0}) {
    const Verdict v = judge(run(with_a_stall(), [&](double steps) { return std::min(steps, until); }));
    EXPECT_FALSE(v.leak) << until;
    EXPECT_EQ(v.kind, "warm_up") << until;
  }
}

TEST(Judge, AnAllocatorThatGrowsAloneIsNoLeakOnAMachineThatOthersUse) {
  const Verdict v = judge(run(with_a_stall(), [](double) { return 0.0; }, [](double time_s) { return 20 * time_s; }));
  EXPECT_FALSE(v.leak);
  EXPECT_EQ(v.kind, "allocator");
}

TEST(Judge, TablesFilledByFastStepsBeforeTheSlowOnesAreNoLeak) {
  Schedule schedule;
  every(schedule.steps_s, 0, 1, 0.01);
  every(schedule.steps_s, 1, 10, 1);
  every(schedule.looks_s, 0, 10, 0.1);
  EXPECT_FALSE(judge(run(schedule, [](double steps) { return std::min(steps, 100.0); })).leak);
}

}  // namespace
}  // namespace lowtide::doctor
