#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "lowtide/base/units.h"
#include "lowtide/doctor/rule/machine_difference.h"
#include "lowtide/doctor/rule/verdict.h"

namespace lowtide::doctor {
namespace {

// A run of one process, 100 looks over 10 s; `fill` says what the look at share t of the run saw.
Timeline run(const std::function<void(double t, Sample&, ProcessSample&)>& fill,
             const std::function<void(double t, AgentSample&)>& agent = {}) {
  Timeline timeline;
  timeline.pid = 10;
  for (int i = 0; i <= 100; ++i) {
    const double t = i / 100.0;
    Sample s;
    s.time_s = 10 * t;
    ProcessSample p;
    p.pid = 10, p.exact = true, p.name = "program", p.anon = 20_MiB, p.file = p.pss_file = 8_MiB;
    s.processes.push_back(p);
    fill(t, s, s.processes[0]);
    for (ProcessSample& each : s.processes) {
      if (each.pss_anon == 0) each.pss_anon = each.anon;
    }
    timeline.add(std::move(s));
    if (!agent) continue;
    AgentSample a;
    a.time_s = 10 * t, a.pid = 10, a.python = true, a.has_malloc = true;
    agent(t, a);
    timeline.add(std::move(a));
  }
  return timeline;
}

std::uint64_t part(double share, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(share * static_cast<double>(bytes));
}

void expect_table_adds_up(const Verdict& v) {
  const std::int64_t sum = std::accumulate(v.parts.begin(), v.parts.end(), std::int64_t{0},
                                           [](auto total, const auto& p) { return total + p.second; });
  EXPECT_EQ(sum, v.bytes);
}

TEST(Judge, NothingThatMovesIsFlat) {
  const Verdict v = judge(run([](double, Sample&, ProcessSample&) {}));
  EXPECT_EQ(v.kind, "flat");
  EXPECT_FALSE(v.leak);
}

TEST(Judge, MuchThatDoesNotGrowIsLarge) {
  EXPECT_EQ(judge(run([](double, Sample&, ProcessSample& p) { p.anon = 3_GiB; })).kind, "large");
}

TEST(Judge, LiveMallocWithoutAnOwnerThatGrowsIsANativeLeak) {
  const Verdict v =
      judge(run([](double t, Sample&, ProcessSample& p) { p.anon += part(t, 100_MiB), p.mapped = p.anon; },
                [](double t, AgentSample& a) { a.malloc_live = part(t, 100_MiB); }));
  EXPECT_EQ(v.kind, "native");
  EXPECT_TRUE(v.leak);
  expect_table_adds_up(v);
}

TEST(Judge, FreedMemoryThatMallocKeepsIsTheAllocators) {
  const Verdict v = judge(run([](double t, Sample&, ProcessSample& p) { p.anon += part(t, 100_MiB); },
                              [](double t, AgentSample& a) { a.malloc_held = part(t, 98_MiB); }));
  EXPECT_EQ(v.kind, "allocator");
  EXPECT_FALSE(v.leak);
  expect_table_adds_up(v);
}

TEST(Judge, ArraysThatGrowAreObjectsWithTheirHolder) {
  const Verdict v =
      judge(run([](double t, Sample&, ProcessSample& p) { p.anon += part(t, 100_MiB); },
                [](double t, AgentSample& a) {
                  a.malloc_mmapped = part(t, 100_MiB), a.has_census = true, a.array_bytes = part(t, 99_MiB);
                  a.steps = static_cast<std::uint64_t>(100 * t);
                  a.holders.push_back({"list", "train.py:88 list 'losses'", "autograd graph", 10, 99_MiB});
                }));
  EXPECT_EQ(v.kind, "objects");
  EXPECT_TRUE(v.leak);
  EXPECT_EQ(v.where, "train.py:88 list 'losses'");
  EXPECT_NE(v.fix.find("loss.item()"), std::string::npos);
  ASSERT_TRUE(v.per_step_bytes);
  EXPECT_NEAR(*v.per_step_bytes, 1_MiB, 1e5);
  expect_table_adds_up(v);
}

TEST(Judge, GrowthThatStopsIsWarmUp) {
  const Verdict v = judge(run([](double t, Sample&, ProcessSample& p) { p.anon += part(std::min(t, 0.4), 200_MiB); },
                              [](double t, AgentSample& a) { a.malloc_live = part(std::min(t, 0.4), 200_MiB); }));
  EXPECT_EQ(v.kind, "warm_up");
  EXPECT_FALSE(v.leak);
}

TEST(Judge, PagesOfAMapAreNamedAndNoLeak) {
  const Verdict v = judge(run([](double t, Sample& s, ProcessSample& p) {
    p.file = p.pss_file = 8_MiB + part(t, 300_MiB);
    s.files.push_back({"/data/train.bin", part(t, 300_MiB), part(t, 300_MiB)});
  }));
  EXPECT_EQ(v.kind, "mapped_files");
  EXPECT_FALSE(v.leak);
  EXPECT_EQ(v.where, "/data/train.bin");
  expect_table_adds_up(v);
}

TEST(Judge, PagesInNoProcessAreThePageCache) {
  const Verdict v = judge(
      run([](double t, Sample& s, ProcessSample&) { s.files.push_back({"/data/train.bin", part(t, 300_MiB), 0}); }));
  EXPECT_EQ(v.kind, "page_cache");
  EXPECT_FALSE(v.leak);
}

TEST(Judge, ALeakIsSaidEvenWhereThePageCacheGrowsMore) {
  const Verdict v = judge(run(
      [](double t, Sample& s, ProcessSample& p) {
        p.anon += part(t, 60_MiB);
        s.files.push_back({"/data/train.bin", part(t, 900_MiB), 0});
      },
      [](double t, AgentSample& a) { a.malloc_live = part(t, 60_MiB); }));
  EXPECT_EQ(v.kind, "native");
  EXPECT_TRUE(v.leak);
}

TEST(Judge, SharedPagesThatBecomePrivateAreCopies) {
  const Verdict v = judge(run([](double t, Sample& s, ProcessSample& p) {
    p.anon = 200_MiB, p.pss_anon = 200_MiB;
    ProcessSample child = p;
    child.pid = 11, child.parent = 10;
    child.private_dirty = part(t, 150_MiB), child.shared_dirty = 200_MiB - part(t, 150_MiB);
    child.pss_anon = child.private_dirty + 1;
    s.processes.push_back(child);
  }));
  EXPECT_EQ(v.kind, "copy_on_write");
  EXPECT_FALSE(v.leak);
}

TEST(Judge, TheTableIsTheCgroupsChargeWhereTheTreeHasOne) {
  const Verdict v = judge(run(
      [](double t, Sample& s, ProcessSample& p) {
        p.anon += part(t, 100_MiB);
        s.cgroup.present = s.cgroup.own = true;
        s.cgroup.anon = p.anon, s.cgroup.file = part(t, 30_MiB), s.cgroup.kernel = 1_MiB, s.cgroup.limit = 8_GiB;
        s.cgroup.usage = s.cgroup.anon + s.cgroup.file + s.cgroup.kernel + 5;
      },
      [](double t, AgentSample& a) { a.malloc_live = part(t, 100_MiB); }));
  EXPECT_EQ(v.charged, "the container's charge");
  EXPECT_TRUE(v.leak);
  ASSERT_TRUE(v.seconds_to_limit);
  EXPECT_NEAR(*v.seconds_to_limit, (8_GiB - 150_MiB) / (130.0 * 1_MiB / 10), 20);
  expect_table_adds_up(v);
}

TEST(Judge, LowtidesOwnBudgetIsALineOfItsOwnAndNoLeak) {
  const Verdict v = judge(run([](double t, Sample&, ProcessSample& p) { p.anon += part(t, 100_MiB); },
                              [](double t, AgentSample& a) {
                                a.lowtide_held = part(t, 100_MiB), a.lowtide_limit = 512_MiB,
                                a.malloc_mmapped = part(t, 100_MiB);
                              }));
  EXPECT_FALSE(v.leak);
  EXPECT_EQ(v.claims.front().label.substr(0, 20), "lowtide's own budget");
}

TEST(Judge, WhatACensusTakesWhileItCountsIsNotTheProgramsGrowth) {
  const auto taken = [](double t) { return t > 0.55 ? part(t - 0.55, 100_MiB) : 0; };
  const Verdict v = judge(run([&](double t, Sample&, ProcessSample& p) { p.anon += taken(t), p.mapped = p.anon; },
                              [&](double t, AgentSample& a) {
                                a.malloc_live = taken(t);
                                a.has_census = t == 0.55, a.census_s = t == 0.55 ? 10 : 0;
                              }));
  EXPECT_FALSE(v.leak) << v.summary;
  EXPECT_EQ(v.kind, "flat");
}

TEST(Judge, GrowthThatStoppedDuringACensusIsWarmUp) {
  const auto live = [](double t) { return part(std::min(t, 0.45), 200_MiB); };
  const Verdict v = judge(run([&](double t, Sample&, ProcessSample& p) { p.anon += live(t), p.mapped = p.anon; },
                              [&](double t, AgentSample& a) {
                                a.malloc_live = live(t);
                                a.has_census = t == 0.4, a.census_s = t == 0.4 ? 10 : 0;
                              }));
  EXPECT_FALSE(v.leak) << v.summary;
}

TEST(Judge, FewLooksGiveNoVerdict) {
  Timeline t;
  const Verdict v = judge(t);
  EXPECT_FALSE(v.leak);
  EXPECT_NE(v.summary.find("not known"), std::string::npos);
}

TEST(MachineDifference, TheFactorOfTheSignatureIsFirst) {
  const Json good = {
      {"kernel.release", "6.1"}, {"env.MALLOC_ARENA_MAX", "2"}, {"memory.thp", "madvise"}, {"memory.total", 1}};
  const Json bad = {
      {"kernel.release", "6.2"}, {"env.MALLOC_ARENA_MAX", "unset"}, {"memory.thp", "always"}, {"memory.total", 2}};
  EXPECT_EQ(machine_differences(good, bad, "allocator").front().key, "env.MALLOC_ARENA_MAX");
  EXPECT_EQ(machine_differences(good, bad, "allocator").front().fix, "MALLOC_ARENA_MAX=2");
  EXPECT_EQ(machine_differences(good, bad, "page_cache").front().key, "memory.total");
  EXPECT_EQ(machine_differences(good, bad, "").back().key, "kernel.release");
  EXPECT_TRUE(machine_differences(good, good, "").empty());
}

}  // namespace
}  // namespace lowtide::doctor
