#include "lowtide/doctor/timeline/timeline.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "lowtide/base/units.h"
#include "lowtide/doctor/probe/text_file.h"
#include "lowtide/error.h"

namespace lowtide::doctor {
namespace {

constexpr std::uint64_t largest_file_bytes = 256_MiB;

// Every second one of the older half goes, but never the first.
template <class T, class Keep>
void thin(std::vector<T>& all, Keep keep) {
  const std::size_t half = all.size() / 2;
  std::vector<T> left;
  left.reserve(half + half / 2 + 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i >= half || i % 2 == 0 || keep(all[i])) left.push_back(std::move(all[i]));
  }
  all = std::move(left);
}

void read_line(Timeline& timeline, const Json& json) {
  if (const auto at = json.find("sample"); at != json.end() && at->is_object()) {
    timeline.add(sample_from(*at));
  } else if (const auto agent = json.find("agent"); agent != json.end() && agent->is_object()) {
    timeline.add(agent_from(*agent));
  } else if (const auto mark = json.find("mark"); mark != json.end() && mark->is_object()) {
    const Json time = mark->value("t", Json());
    if (time.is_number()) timeline.add_step(time.get<double>());
  } else if (const auto end = json.find("end"); end != json.end() && end->is_object()) {
    timeline.ended = true;
    const Json exit = end->value("exit", Json());
    if (exit.is_number_integer()) timeline.exit_status = exit.get<int>();
    const Json steps = end->value("steps", Json());
    if (steps.is_number_unsigned()) timeline.step_count = std::max(timeline.step_count, steps.get<std::uint64_t>());
  }
}

void read_header(Timeline& timeline, const Json& json, const std::string& name) {
  const auto schema = json.is_object() ? json.find("lowtide_timeline") : json.end();
  if (!json.is_object() || schema == json.end() || !schema->is_number_integer())
    throw FormatError(
        fmt::format("{} is no timeline of lowtide doctor: its first line does not say \"lowtide_timeline\"", name));
  if (schema->get<long>() != timeline_schema)
    throw FormatError(fmt::format("{} is a timeline of schema {}; this lowtide reads schema {}", name,
                                  schema->get<long>(), timeline_schema));
  if (const auto at = json.find("command"); at != json.end() && at->is_string())
    timeline.command = at->get<std::string>();
  if (const auto at = json.find("pid"); at != json.end() && at->is_number_integer()) timeline.pid = at->get<int>();
  if (const auto at = json.find("machine"); at != json.end() && at->is_object()) timeline.machine = *at;
  if (const auto at = json.find("blind"); at != json.end() && at->is_array()) {
    for (const Json& line : *at) {
      if (line.is_string()) timeline.blind.push_back(line.get<std::string>());
    }
  }
}

}  // namespace

void Timeline::add(Sample sample) {
  if (!samples.empty() && !(sample.time_s >= samples.back().time_s)) return;  // a foreign clock, or no number at all
  samples.push_back(std::move(sample));
  if (samples.size() > most_samples) thin(samples, [](const Sample&) { return false; });
}

void Timeline::add(AgentSample sample) {
  if (!std::isfinite(sample.time_s)) return;
  agents.push_back(std::move(sample));
  if (agents.size() > 2 * most_samples) thin(agents, [](const AgentSample& a) { return a.exiting; });
  // Lists are what is large: of each process only the first and the last few matter.
  std::map<int, int> lists;
  for (auto a = agents.rbegin(); a != agents.rend(); ++a) {
    if (a->holders.empty() && a->stacks.empty()) continue;
    if (++lists[a->pid] > 8) a->holders.clear(), a->stacks.clear();
  }
}

void Timeline::add_step(double time_s) {
  ++step_count;
  if (step_count % step_stride_ != 0) return;
  marks.push_back({time_s, "step"});
  if (marks.size() > most_samples) {
    for (std::size_t i = 0; i < marks.size() / 2; ++i) marks[i] = marks[2 * i];
    marks.resize(marks.size() / 2);
    step_stride_ *= 2;
  }
}

Timeline parse_timeline(std::string_view text, const std::string& name) {
  Timeline timeline;
  bool first = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos && !first) break;  // cut while it was written
    const std::string_view line = text.substr(at, end == std::string_view::npos ? text.size() - at : end - at);
    at = end == std::string_view::npos ? text.size() : end + 1;
    if (line.empty() && !first) continue;
    const Json json = Json::parse(line, nullptr, false);
    if (first)
      read_header(timeline, json, name);
    else if (json.is_object())
      read_line(timeline, json);
    first = false;
  }
  if (first) throw FormatError(name + " is empty: no timeline of lowtide doctor");
  return timeline;
}

Timeline load_timeline(const std::string& path) {
  errno = 0;
  const auto text = read_text(path);
  if (!text) throw IoError(fmt::format("cannot read {}: {}", path, std::strerror(errno)), errno, path);
  if (text->size() > largest_file_bytes)
    throw FormatError(fmt::format("{} has {}; a timeline has at most {}", path, format_bytes(text->size()),
                                  format_bytes(largest_file_bytes)));
  return parse_timeline(*text, path);
}

TimelineFile::TimelineFile(std::string path) : path_(std::move(path)) {
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0644);
  if (fd_ < 0) throw IoError(fmt::format("cannot write {}: {}", path_, std::strerror(errno)), errno, path_);
}

TimelineFile::~TimelineFile() { close(fd_); }

// A full disk must not end the run that is watched: what is known stays in memory.
void TimelineFile::write(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
  ++lines_;
}

void TimelineFile::begin(const Timeline& timeline) { write(header_line(timeline)); }

void TimelineFile::append(const std::string& line, const Timeline& timeline) {
  write(line);
  if (lines_ < 8 * most_samples) return;
  const std::string part = path_ + ".part";
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0644);
  if (fd < 0) return;
  const int old = std::exchange(fd_, fd);
  lines_ = 0;
  begin(timeline);
  for (const Sample& s : timeline.samples) write(to_line(s));
  for (const AgentSample& a : timeline.agents) write(to_line(a));
  for (const Mark& m : timeline.marks) write(Json({{"mark", {{"t", m.time_s}, {"name", m.name}}}}).dump() + "\n");
  std::rename(part.c_str(), path_.c_str());
  close(old);
}

void TimelineFile::end(const Timeline& timeline) {
  const double time = timeline.samples.empty() ? 0 : timeline.samples.back().time_s;
  write(Json({{"end", {{"t", time}, {"exit", timeline.exit_status}, {"steps", timeline.step_count}}}}).dump() + "\n");
}

}  // namespace lowtide::doctor
