#include "lowtide/doctor/probe/process.h"

#include <dirent.h>
#include <fmt/format.h>

#include <cstdlib>
#include <set>

#include "lowtide/doctor/probe/text_file.h"

namespace lowtide::doctor {
namespace {

struct Stat {
  std::string name;
  char state = '?';
  int parent = 0;
  std::uint64_t start_ticks = 0;
};

// The name may hold spaces and parentheses: fields are counted from the last ")".
std::optional<Stat> parse_stat(const std::string& text) {
  const std::size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  Stat stat;
  stat.name = text.substr(open + 1, close - open - 1);
  std::size_t at = close + 2;
  for (int field = 3; field <= 22 && at < text.size(); ++field) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string value = text.substr(at, end - at);
    if (field == 3) stat.state = value.empty() ? '?' : value[0];
    if (field == 4) stat.parent = std::atoi(value.c_str());
    if (field == 22) stat.start_ticks = std::strtoull(value.c_str(), nullptr, 10);
    at = end + 1;
  }
  return stat;
}

std::size_t count_entries(const std::string& folder) {
  DIR* dir = opendir(folder.c_str());
  if (dir == nullptr) return 0;
  std::size_t count = 0;
  while (const dirent* entry = readdir(dir)) count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

void fill_exact(ProcessSample& p, const std::string& rollup) {
  p.exact = true;
  p.pss_anon = field_bytes(rollup, "Pss_Anon");
  p.pss_file = field_bytes(rollup, "Pss_File");
  p.pss_shmem = field_bytes(rollup, "Pss_Shmem");
  p.swap_pss = field_bytes(rollup, "SwapPss");
  p.private_dirty = field_bytes(rollup, "Private_Dirty");
  p.shared_dirty = field_bytes(rollup, "Shared_Dirty");
  p.lazy_free = field_bytes(rollup, "LazyFree");
  p.anon_huge = field_bytes(rollup, "AnonHugePages");
}

std::vector<int> children_of(const std::string& proc, int pid) {
  std::vector<int> children;
  const std::string tasks = fmt::format("{}/{}/task", proc, pid);
  DIR* dir = opendir(tasks.c_str());
  if (dir == nullptr) return children;
  while (const dirent* entry = readdir(dir)) {
    if (entry->d_name[0] == '.') continue;
    const auto text = read_text(fmt::format("{}/{}/children", tasks, entry->d_name));
    if (!text) continue;
    for (const char* at = text->c_str(); *at != '\0';) {
      char* end = nullptr;
      const long child = std::strtol(at, &end, 10);
      if (end == at) break;
      children.push_back(static_cast<int>(child));
      at = end;
      while (*at == ' ') ++at;
    }
  }
  closedir(dir);
  return children;
}

}  // namespace

std::optional<ProcessSample> look_at_process(int pid, bool exact, const std::string& proc) {
  const std::string folder = fmt::format("{}/{}", proc, pid);
  const auto stat_text = read_text(folder + "/stat");
  const auto stat = stat_text ? parse_stat(*stat_text) : std::nullopt;
  if (!stat || stat->state == 'Z' || stat->state == 'X') return std::nullopt;
  const auto status = read_text(folder + "/status");
  if (!status) return std::nullopt;
  ProcessSample p;
  p.pid = pid;
  p.parent = stat->parent;
  p.start_ticks = stat->start_ticks;
  p.name = stat->name;
  p.anon = field_bytes(*status, "RssAnon");
  p.file = field_bytes(*status, "RssFile");
  p.shmem = field_bytes(*status, "RssShmem");
  p.swap = field_bytes(*status, "VmSwap");
  p.page_tables = field_bytes(*status, "VmPTE");
  p.mapped = field_bytes(*status, "VmSize");
  p.threads = field_bytes(*status, "Threads");
  p.fds = count_entries(folder + "/fd");
  if (exact) {
    if (const auto rollup = read_text(folder + "/smaps_rollup"); rollup && !rollup->empty()) fill_exact(p, *rollup);
  }
  if (!p.exact) {
    p.pss_anon = p.anon, p.pss_file = p.file, p.pss_shmem = p.shmem, p.swap_pss = p.swap;
    p.private_dirty = p.anon;
  }
  return p;
}

std::vector<ProcessSample> Tree::look(int without) {
  std::vector<ProcessSample> found;
  std::set<int> visited;
  std::vector<int> queue = {root_};
  for (const auto& [pid, start] : known_) {
    if (pid != root_) queue.push_back(pid);
  }
  std::map<int, std::uint64_t> alive;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const int pid = queue[i];
    if (pid == without || !visited.insert(pid).second) continue;
    for (const int child : children_of(proc_, pid)) queue.push_back(child);
    auto process = look_at_process(pid, true, proc_);
    if (!process) continue;
    const auto before = known_.find(pid);
    if (before != known_.end() && before->second != process->start_ticks) continue;  // the number was given away again
    if (before == known_.end()) ++seen_count_;
    alive[pid] = process->start_ticks;
    found.push_back(std::move(*process));
  }
  known_ = std::move(alive);
  return found;
}

std::vector<int> Tree::pids() const {
  std::vector<int> pids;
  for (const auto& [pid, start] : known_) pids.push_back(pid);
  return pids;
}

}  // namespace lowtide::doctor
