// lowtide env: what this machine and this process allow, for a bug report.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "lowtide/budget.h"
#include "lowtide/cli/failure.h"
#include "lowtide/cli/io_choice.h"
#include "lowtide/cli/json.h"
#include "lowtide/cli/session.h"
#include "lowtide/cli/terminal.h"
#include "lowtide/io/page_cache.h"
#include "lowtide/memory/available.h"

namespace lowtide::cli {
namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

std::string kernel() {
  utsname u{};
  uname(&u);
  return fmt::format("{} {} {}", u.sysname, u.release, u.machine);
}

unsigned usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set))
                                                     : std::thread::hardware_concurrency();
}

Json limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return nullptr;
  return limit.rlim_cur;
}

std::string file_system(const std::string& path) {
  struct Known {
    unsigned long magic;
    const char* name;
  };
  constexpr std::array<Known, 10> known = {{{EXT4_SUPER_MAGIC, "ext4"},
                                            {0x58465342, "xfs"},
                                            {BTRFS_SUPER_MAGIC, "btrfs"},
                                            {TMPFS_MAGIC, "tmpfs"},
                                            {OVERLAYFS_SUPER_MAGIC, "overlayfs"},
                                            {NFS_SUPER_MAGIC, "nfs"},
                                            {0x2FC12FC1, "zfs"},
                                            {FUSE_SUPER_MAGIC, "fuse"},
                                            {F2FS_SUPER_MAGIC, "f2fs"},
                                            {0x01021997, "9p"}}};
  struct statfs s{};
  if (statfs(path.c_str(), &s) != 0) return "unknown";
  for (const Known& k : known) {
    if (static_cast<unsigned long>(s.f_type) == k.magic) return k.name;
  }
  return fmt::format("file system {:#x}", static_cast<unsigned long>(s.f_type));
}

// A regular file to try things on: the path itself, or an unnamed one in a folder.
class Sample {
 public:
  explicit Sample(const std::string& path) {
    struct stat s{};
    if (stat(path.c_str(), &s) != 0)
      throw IoError(fmt::format("cannot look at {}: {}", path, std::strerror(errno)), errno, path);
    if (!S_ISDIR(s.st_mode)) {
      path_ = path;
      return;
    }
    fd_ = open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    const std::string page(io::direct_align, '\0');
    if (fd_ < 0 || pwrite(fd_, page.data(), page.size(), 0) < 0) {
      refusal_ = fmt::format("cannot make a file there: {}", std::strerror(errno));
      return;
    }
    path_ = fmt::format("/proc/self/fd/{}", fd_);
  }
  ~Sample() {
    if (fd_ >= 0) close(fd_);
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  const std::string& path() const { return path_; }
  const std::string& refusal() const { return refusal_; }  // why nothing can be tried

 private:
  std::string path_, refusal_;
  int fd_ = -1;
};

struct Feature {
  bool works = false;
  std::string refusal;
  Json json() const {
    Json j = {{"works", works}};
    if (!works) j["reason"] = refusal;
    return j;
  }
  std::string text() const { return works ? "yes" : "no: " + refusal; }
};

struct FolderFeatures {
  Feature direct, dontcache, cachestat;
  std::string mode, reason;
};

FolderFeatures features_of(const std::string& path) {
  const Sample sample(path);
  if (sample.path().empty()) {
    const Feature unknown{false, sample.refusal()};
    return {unknown, unknown, unknown, "unknown", sample.refusal()};
  }
  const auto feature = [&](io::Mode mode) -> Feature {
    const ModeTrial trial = try_mode(sample.path(), mode);
    return {trial.file != nullptr, trial.refusal};
  };
  FolderFeatures features{feature(io::Mode::threads), feature(io::Mode::dontcache), {}, "", ""};
  const auto file = io::File::open(sample.path(), io::Access::read);
  const io::File::Pin pin = file->pin();
  io::CacheCount count;
  features.cachestat.works = io::count_cached(file->fd(), 0, 0, count);
  if (!features.cachestat.works) features.cachestat.refusal = std::strerror(errno);
  features.mode = io::name(file->mode());
  features.reason = reason_for(*file);
  return features;
}

std::string settings() {
  std::string text;
  for (const char* name : {"LOWTIDE_BUDGET", "LOWTIDE_IO", "LOWTIDE_THREADS", "LOWTIDE_SPILL_DIR", "LOWTIDE_LOG"}) {
    if (const char* value = std::getenv(name)) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  }
  return text;
}

Exit env(const SharedOptions& options, const std::string& path) {
  const std::uint64_t budget_bytes = budget();
  const FolderFeatures features = features_of(path);
  const Feature uring{io::uring_available(), io::uring_refusal()};
  const Available available = available_memory();
  const bool limited = available.source.starts_with("cgroup");
  const Json memlock = limit_of(RLIMIT_MEMLOCK), files = limit_of(RLIMIT_NOFILE);
  if (options.json) {
    print_json({{"version", LOWTIDE_VERSION},
                {"compiler", compiler()},
                {"kernel", kernel()},
                {"cpus", {{"usable", usable_cpus()}, {"present", std::thread::hardware_concurrency()}}},
                {"available_bytes", available.bytes},
                {"available_source", available.source},
                {"budget_bytes", budget_bytes},
                {"budget_source", budget_source()},
                {"path", path},
                {"file_system", file_system(path)},
                {"io_uring", uring.json()},
                {"o_direct", features.direct.json()},
                {"rwf_dontcache", features.dontcache.json()},
                {"cachestat", features.cachestat.json()},
                {"io_mode", features.mode},
                {"io_reason", features.reason},
                {"memlock_bytes", memlock},
                {"open_files", files},
                {"settings", settings()}});
    return Exit::fine;
  }
  if (options.quiet) return Exit::fine;
  std::puts(Style(stdout).bold("lowtide " LOWTIDE_VERSION).c_str());
  Fields fields;
  fields.add("compiler", compiler());
  fields.add("kernel", kernel());
  fields.add("CPUs", fmt::format("{} usable of {}", usable_cpus(), std::thread::hardware_concurrency()));
  fields.add("memory", fmt::format("{} available to this process", format_bytes(available.bytes)));
  fields.add("cgroup limit",
             limited ? available.source.substr(std::strlen("cgroup limit ")) : "none that binds before the machine");
  fields.add("budget", fmt::format("{}: {}", format_bytes(budget_bytes), budget_source()));
  fields.add("folder", fmt::format("{} ({})", path, file_system(path)));
  fields.add("io_uring", uring.text());
  fields.add("O_DIRECT", features.direct.text());
  fields.add("RWF_DONTCACHE", features.dontcache.text());
  fields.add("cachestat", features.cachestat.text());
  fields.add("IO mode", fmt::format("{}: {}", features.mode, features.reason));
  fields.add("memlock", memlock.is_null() ? "no limit" : format_bytes(memlock.get<std::uint64_t>()));
  fields.add("open files", files.is_null() ? "no limit" : fmt::format("{} at most", files.get<std::uint64_t>()));
  fields.add("settings", settings().empty() ? "none in the environment" : settings());
  fields.print();
  return Exit::fine;
}

}  // namespace

void add_env(CLI::App& app, Session& session) {
  CLI::App* verb = add_verb(
      app, session,
      {"env", "Version, kernel, IO features, limits, for bug reports.", "lowtide env\nlowtide env /data --json"});
  auto path = std::make_shared<std::string>(".");
  is_path(verb->add_option("PATH", *path, "Where to try IO; the current folder by default"))->type_name("");
  verb->callback([=, &session] { session.run = [=, &session] { return env(session.options, *path); }; });
}

}  // namespace lowtide::cli
