// Everything that was seen of a run, bounded in size.
//
// On disk a timeline is lines of JSON, appended as they happen, so that what a killed doctor leaves behind can be read:
//
//   {"lowtide_timeline": 1, "command": "python train.py", "pid": 17, "machine": {…}}
//   {"sample": {"t": 12.5, "processes": […], "cgroup": {…}, …}}
//   {"agent": {"t": 12.6, "pid": 17, …}}                         what a watched process said of itself
//   {"mark": {"t": 13.0, "name": "step"}}
//   {"end": {"t": 20.1, "exit": 0}}
//
// A last line that was cut is left out. Samples beyond a bound are thinned: every second one of the older half goes.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lowtide/doctor/timeline/sample.h"

namespace lowtide::doctor {

using Json = nlohmann::ordered_json;

constexpr int timeline_schema = 1;
constexpr std::size_t most_samples = 2048;

struct Mark {
  double time_s = 0;
  std::string name;  // "step", or a probe
};

struct Timeline {
  std::string command;
  int pid = 0;
  Json machine;
  std::vector<Sample> samples;
  std::vector<AgentSample> agents;
  std::vector<Mark> marks;
  std::uint64_t step_count = 0;
  bool ended = false;
  int exit_status = -1;            // as a shell says it; -1 where the end was not seen
  std::vector<std::string> blind;  // what could not be seen, in words

  void add(Sample sample);
  void add(AgentSample sample);
  void add_step(double time_s);

 private:
  std::uint64_t step_stride_ = 1;
};

// One line each. Parsing throws FormatError; fields that are missing or of another type are as if they were zero.
std::string to_line(const Sample& sample);
std::string to_line(const AgentSample& sample);
Json to_json(const AgentSample& sample);
Sample sample_from(const Json& json);
AgentSample agent_from(const Json& json);
std::string header_line(const Timeline& timeline);

// Throws FormatError where the text is no timeline, or one of a later schema. `name` is for the message.
Timeline parse_timeline(std::string_view text, const std::string& name);
// Throws IoError or FormatError.
Timeline load_timeline(const std::string& path);

// Appends to a file, and rewrites it, thinned, when it has grown to twice what the timeline keeps.
class TimelineFile {
 public:
  explicit TimelineFile(std::string path);  // throws IoError
  ~TimelineFile();
  TimelineFile(const TimelineFile&) = delete;
  TimelineFile& operator=(const TimelineFile&) = delete;
  void begin(const Timeline& timeline);
  void append(const std::string& line, const Timeline& timeline);
  void end(const Timeline& timeline);
  const std::string& path() const { return path_; }

 private:
  void write(const std::string& text);
  std::string path_;
  int fd_ = -1;
  std::size_t lines_ = 0;
};

}  // namespace lowtide::doctor
