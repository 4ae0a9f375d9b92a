#include "lowtide/doctor/probe/watcher.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "lowtide/base/units.h"
#include "lowtide/doctor/probe/machine.h"
#include "lowtide/doctor/probe/text_file.h"

namespace lowtide::doctor {
namespace {

constexpr double longest_interval_s = 5, looks_per_run = 200, files_every_s = 1;
// Of the time of one core. A short run needs looks more than it needs that core.
constexpr double short_run_s = 20, cost_share_of_short = 0.1, cost_share = 0.01;
constexpr int most_tries = 3;
constexpr std::uint64_t same_moment_bytes = 512_KiB;
constexpr std::uint64_t largest_agent_piece = 4_MiB;

double clock_s(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::uint64_t shm_used() {
  struct statvfs s{};
  if (statvfs("/dev/shm", &s) != 0) return 0;
  return static_cast<std::uint64_t>(s.f_blocks - s.f_bfree) * s.f_frsize;
}

// From `offset` on, up to the last whole line.
std::string new_lines(const std::string& path, std::uint64_t& offset) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return "";
  std::string text(largest_agent_piece, '\0');
  const ssize_t count = pread(fd, text.data(), text.size(), static_cast<off_t>(offset));
  close(fd);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  const std::size_t last = text.rfind('\n');
  text.resize(last == std::string::npos ? 0 : last + 1);
  offset += text.size();
  return text;
}

}  // namespace

double monotonic_s() { return clock_s(CLOCK_MONOTONIC); }

Watcher::Watcher(WatchOptions options)
    : options_(std::move(options)),
      tree_(options_.pid),
      cgroup_(Cgroup::of(options_.pid)),
      interval_s_(options_.shortest_interval_s) {
  timeline_.command = options_.command;
  timeline_.pid = options_.pid;
  timeline_.machine = machine_facts(options_.pid);
  if (cgroup_.folder().empty()) timeline_.blind.push_back("the container: no memory cgroup can be read here");
  files_.new_shm_bytes({});
  started_s_ = monotonic_s();
  if (!options_.timeline_path.empty()) {
    file_ = std::make_unique<TimelineFile>(options_.timeline_path);
    file_->begin(timeline_);
  }
}

bool Watcher::look() {
  const double cpu_before = clock_s(CLOCK_THREAD_CPUTIME_ID);
  Sample sample;
  // Processes and their cgroup are two looks; they must be of the same moment for the table to add up.
  for (int tries = 0; tries < most_tries; ++tries) {
    const std::uint64_t before = cgroup_.look({}).anon;
    sample.processes = tree_.look(options_.without);
    sample.time_s = monotonic_s();
    sample.cgroup = cgroup_.look(tree_.pids());
    if (!sample.cgroup.own ||
        std::max(before, sample.cgroup.anon) - std::min(before, sample.cgroup.anon) < same_moment_bytes)
      break;
  }
  read_agents();
  if (sample.processes.empty()) return false;
  const std::vector<int> pids = tree_.pids();
  refused_ = std::none_of(sample.processes.begin(), sample.processes.end(), [](const auto& p) { return p.exact; }) &&
             access(fmt::format("/proc/{}/smaps_rollup", options_.pid).c_str(), R_OK) != 0;
  const double cost = clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
  if (sample.time_s >= files_due_s_) {
    last_files_ = files_.look(pids);
    files_due_s_ = sample.time_s +
                   std::max({files_every_s, 6 * interval_s_, 50 * (clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu_before)});
  }
  sample.files = last_files_;
  sample.shm_used = shm_used();
  sample.shm_of_tree = files_.new_shm_bytes(pids);
  const std::string meminfo = read_text("/proc/meminfo").value_or("");
  sample.memory_available = field_bytes(meminfo, "MemAvailable");
  sample.slab = field_bytes(meminfo, "SReclaimable");
  sample.device = device_.used_bytes(pids);
  if (file_) file_->append(to_line(sample), timeline_);
  const double now = sample.time_s;
  timeline_.add(std::move(sample));
  interval_s_ = std::clamp(std::max((now - started_s_) / looks_per_run,
                                    cost / (now - started_s_ < short_run_s ? cost_share_of_short : cost_share)),
                           options_.shortest_interval_s, longest_interval_s);
  return true;
}

void Watcher::read_agents() {
  if (options_.agent_folder.empty()) return;
  DIR* dir = opendir(options_.agent_folder.c_str());
  if (dir == nullptr) return;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (!name.ends_with(".agent")) continue;
    const std::string lines = new_lines(options_.agent_folder + "/" + name, agent_offsets_[name]);
    for (std::size_t at = 0; at < lines.size();) {
      const std::size_t end = lines.find('\n', at);
      const Json json = Json::parse(lines.substr(at, end - at), nullptr, false);
      at = end + 1;
      if (!json.is_object()) continue;
      AgentSample agent = agent_from(json);
      timeline_.step_count = std::max(timeline_.step_count, agent.steps);
      if (file_) file_->append(to_line(agent), timeline_);
      timeline_.add(std::move(agent));
    }
  }
  closedir(dir);
}

void Watcher::step() {
  const double now = monotonic_s();
  timeline_.add_step(now);
  if (file_ && !timeline_.marks.empty() && timeline_.marks.back().time_s == now)
    file_->append(Json({{"mark", {{"t", now}, {"name", "step"}}}}).dump() + "\n", timeline_);
}

void Watcher::end(int exit_status) {
  read_agents();
  timeline_.ended = true;
  timeline_.exit_status = exit_status;
  if (file_) file_->end(timeline_);
}

}  // namespace lowtide::doctor
