#include "lowtide/doctor/timeline/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "lowtide/error.h"

namespace lowtide::doctor {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Sample a_sample(double time) {
  Sample s;
  s.time_s = time;
  ProcessSample p;
  p.pid = 7, p.name = "py \"thon\"", p.anon = 1 << 20, p.exact = true, p.pss_anon = 1 << 19;
  s.processes.push_back(p);
  s.cgroup.present = true, s.cgroup.usage = 123;
  s.files.push_back({"/data/x.bin", 4096, 2048});
  return s;
}

class TimelineFileTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("timeline_test_" + std::to_string(getpid()));
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::filesystem::path path_;
};

TEST_F(TimelineFileTest, WhatIsWrittenIsRead) {
  Timeline written;
  written.command = "python train.py", written.pid = 7;
  {
    TimelineFile file(path_);
    file.begin(written);
    for (int i = 0; i < 5; ++i) file.append(to_line(a_sample(i)), written);
    AgentSample agent;
    agent.pid = 7, agent.python = true, agent.has_malloc = true, agent.malloc_live = 99, agent.census_s = 0.25;
    agent.holders.push_back({"list", "train.py:88 list 'losses'", "autograd graph", 3, 4096});
    agent.stacks.push_back({77, {"leak (libx.so)"}});
    file.append(to_line(agent), written);
    written.exit_status = 3;
    file.end(written);
  }
  const Timeline read = load_timeline(path_);
  EXPECT_EQ(read.command, "python train.py");
  ASSERT_EQ(read.samples.size(), 5u);
  EXPECT_EQ(read.samples[2].processes[0].name, "py \"thon\"");
  EXPECT_EQ(read.samples[2].processes[0].pss_anon, 1u << 19);
  EXPECT_EQ(read.samples[2].files[0], (FileSample{"/data/x.bin", 4096, 2048}));
  ASSERT_EQ(read.agents.size(), 1u);
  EXPECT_EQ(read.agents[0].malloc_live, 99u);
  EXPECT_EQ(read.agents[0].census_s, 0.25);
  EXPECT_EQ(read.agents[0].holders[0].where, "train.py:88 list 'losses'");
  EXPECT_EQ(read.agents[0].stacks[0].frames[0], "leak (libx.so)");
  EXPECT_TRUE(read.ended);
  EXPECT_EQ(read.exit_status, 3);
}

TEST(Timeline, ALastLineThatWasCutIsLeftOut) {
  Timeline t;
  const std::string whole = header_line(t) + to_line(a_sample(1)) + to_line(a_sample(2));
  for (std::size_t cut = 1; cut < 60; ++cut) {
    const Timeline read = parse_timeline(whole.substr(0, whole.size() - cut), "x");
    EXPECT_EQ(read.samples.size(), 1u);
    EXPECT_FALSE(read.ended);
  }
}

TEST(Timeline, ForeignFilesAreRefusedByName) {
  const auto parse = [](const char* text) { return [text] { parse_timeline(text, "x.timeline"); }; };
  EXPECT_THAT(parse(""), ThrowsMessage<FormatError>(HasSubstr("x.timeline is empty")));
  EXPECT_THAT(parse("\x93NUMPY"), ThrowsMessage<FormatError>(HasSubstr("is no timeline")));
  EXPECT_THAT(parse("{\"a\": 1}\n"), ThrowsMessage<FormatError>(HasSubstr("is no timeline")));
  EXPECT_THAT(parse("[1, 2]\n"), ThrowsMessage<FormatError>(HasSubstr("is no timeline")));
  EXPECT_THAT(parse("{\"lowtide_timeline\": 9}\n"),
              ThrowsMessage<FormatError>(HasSubstr("schema 9; this lowtide reads schema 1")));
}

TEST(Timeline, FieldsOfAnotherTypeAreAsIfTheyWereZero) {
  const Timeline read = parse_timeline(
      "{\"lowtide_timeline\": 1}\n{\"sample\": {\"t\": \"x\", \"processes\": [3, {\"pid\": -1, \"anon\": \"much\"}], "
      "\"files\": 4}}\n{\"agent\": {\"malloc\": []}}\nnot json\n",
      "x");
  ASSERT_EQ(read.samples.size(), 1u);
  EXPECT_EQ(read.samples[0].processes[0].anon, 0u);
  EXPECT_FALSE(read.agents[0].has_malloc);
}

TEST_F(TimelineFileTest, AMillionSamplesStayBounded) {
  Timeline timeline;
  TimelineFile file(path_);
  file.begin(timeline);
  const Sample sample = a_sample(0);
  std::string line = to_line(sample);
  for (int i = 0; i < 1'000'000; ++i) {
    Sample next;
    next.time_s = i;
    timeline.add(std::move(next));
    if (i % 20 == 0) file.append(line, timeline);
  }
  EXPECT_LE(timeline.samples.size(), most_samples);
  EXPECT_EQ(timeline.samples.front().time_s, 0);
  EXPECT_EQ(timeline.samples.back().time_s, 999'999);
  EXPECT_LT(std::filesystem::file_size(path_), 16u << 20);
}

}  // namespace
}  // namespace lowtide::doctor
