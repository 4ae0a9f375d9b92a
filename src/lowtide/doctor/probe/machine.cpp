#include "lowtide/doctor/probe/machine.h"

#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <thread>

#include "lowtide/doctor/probe/cgroup.h"
#include "lowtide/doctor/probe/text_file.h"
#include "lowtide/error.h"

namespace lowtide::doctor {
namespace {

// Settings that change what an allocator, an interpreter or a library keeps.
constexpr std::array<const char*, 22> variables = {"MALLOC_ARENA_MAX",
                                                   "MALLOC_TRIM_THRESHOLD_",
                                                   "MALLOC_MMAP_THRESHOLD_",
                                                   "MALLOC_TOP_PAD_",
                                                   "MALLOC_CONF",
                                                   "GLIBC_TUNABLES",
                                                   "LD_PRELOAD",
                                                   "PYTHONMALLOC",
                                                   "PYTHONDEVMODE",
                                                   "NUMPY_MADVISE_HUGEPAGE",
                                                   "OMP_NUM_THREADS",
                                                   "MKL_NUM_THREADS",
                                                   "OPENBLAS_NUM_THREADS",
                                                   "ONEDNN_PRIMITIVE_CACHE_CAPACITY",
                                                   "LRU_CACHE_CAPACITY",
                                                   "PYTORCH_CUDA_ALLOC_CONF",
                                                   "CUDA_MODULE_LOADING",
                                                   "ARROW_DEFAULT_MEMORY_POOL",
                                                   "MIMALLOC_PURGE_DELAY",
                                                   "PYTORCH_NO_CUDA_MEMORY_CACHING",
                                                   "LOWTIDE_BUDGET",
                                                   "TMPDIR"};

std::string sys(const std::string& path) {
  const auto text = read_text(path);
  return text ? trimmed(*text) : "unreadable";
}

// "always [madvise] never" → "madvise"
std::string chosen(const std::string& text) {
  const std::size_t open = text.find('['), close = text.find(']');
  return open == std::string::npos || close < open ? text : text.substr(open + 1, close - open - 1);
}

std::string environment_of(int pid, const char* name) {
  const auto text = read_text(pid == 0 ? "/proc/self/environ" : fmt::format("/proc/{}/environ", pid));
  if (!text) return "unreadable";
  const std::string wanted = std::string(name) + "=";
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\0', at), text->size());
    if (text->compare(at, wanted.size(), wanted) == 0)
      return text->substr(at + wanted.size(), end - at - wanted.size());
    at = end + 1;
  }
  return "unset";
}

std::string first_after(const std::string& text, const std::string& label) {
  const std::size_t at = text.find(label);
  if (at == std::string::npos) return "unknown";
  const std::size_t start = text.find(':', at) + 1;
  return trimmed(text.substr(start, text.find('\n', start) - start));
}

std::string best_isa(const std::string& flags) {
  for (const char* isa : {"avx512f", "avx2", "avx", "sse4_2"}) {
    if (flags.find(std::string(" ") + isa) != std::string::npos) return isa;
  }
  return "baseline";
}

std::string file_system_of(const std::string& folder) {
  std::istringstream mounts(read_text("/proc/self/mounts").value_or(""));
  std::string best_type = "unknown", device, point, type, rest;
  std::size_t best = 0;
  while (mounts >> device >> point >> type && std::getline(mounts, rest)) {
    const bool inside =
        folder.starts_with(point) && (point == "/" || folder.size() == point.size() || folder[point.size()] == '/');
    if (inside && point.size() >= best) best = point.size(), best_type = type;
  }
  return best_type;
}

// Allocators and runtimes that are loaded, by the names of their files.
std::string loaded(int pid, std::initializer_list<const char*> names) {
  const std::string maps = read_text(pid == 0 ? "/proc/self/maps" : fmt::format("/proc/{}/maps", pid)).value_or("");
  std::string found;
  for (const char* name : names) {
    if (maps.find(name) != std::string::npos) found += (found.empty() ? "" : " ") + std::string(name);
  }
  return found.empty() ? "none" : found;
}

void add_memory(Json& facts) {
  const std::string meminfo = read_text("/proc/meminfo").value_or("");
  facts["memory.total"] = field_bytes(meminfo, "MemTotal");
  facts["memory.swap_total"] = field_bytes(meminfo, "SwapTotal");
  facts["memory.page_size"] = sysconf(_SC_PAGESIZE);
  facts["memory.thp"] = chosen(sys("/sys/kernel/mm/transparent_hugepage/enabled"));
  facts["memory.thp_defrag"] = chosen(sys("/sys/kernel/mm/transparent_hugepage/defrag"));
  for (const char* name : {"overcommit_memory", "max_map_count", "swappiness", "vfs_cache_pressure"})
    facts[std::string("vm.") + name] = sys(std::string("/proc/sys/vm/") + name);
  struct statvfs shm{};
  facts["shm.size"] = statvfs("/dev/shm", &shm) == 0 ? static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize : 0;
}

}  // namespace

Json machine_facts(int pid) {
  Json facts = Json::object();
  utsname name{};
  uname(&name);
  facts["kernel.release"] = name.release;
  facts["kernel.machine"] = name.machine;
  facts["kernel.wsl"] = std::string(name.release).find("icrosoft") != std::string::npos;
  const std::string cpuinfo = read_text("/proc/cpuinfo").value_or("");
  facts["cpu.count"] = std::thread::hardware_concurrency();
  facts["cpu.vendor"] = first_after(cpuinfo, "vendor_id");
  facts["cpu.isa"] = best_isa(first_after(cpuinfo, "flags"));
  facts["cpu.quota"] = sys("/sys/fs/cgroup/cpu.max");
  facts["libc.version"] = gnu_get_libc_version();
  add_memory(facts);
  const Cgroup group = Cgroup::of(pid == 0 ? getpid() : pid);
  const CgroupSample cgroup = group.look({});
  facts["cgroup.version"] = cgroup.present ? group.version() : 0;
  facts["cgroup.limit"] = cgroup.limit;
  for (const char* variable : variables) facts[std::string("env.") + variable] = environment_of(pid, variable);
  facts["loaded.allocator"] = loaded(pid, {"libjemalloc", "libtcmalloc", "libmimalloc"});
  facts["loaded.openmp"] = loaded(pid, {"libgomp", "libiomp", "libomp"});
  facts["loaded.blas"] = loaded(pid, {"libopenblas", "libscipy_openblas", "libmkl", "libblis"});
  const std::string limits =
      read_text(pid == 0 ? "/proc/self/limits" : fmt::format("/proc/{}/limits", pid)).value_or("");
  const std::size_t files = limits.find("Max open files");
  facts["limit.open_files"] = files == std::string::npos ? "unknown" : trimmed(limits.substr(files + 14, 20));
  std::array<char, 4096> folder{};
  facts["fs.here"] = getcwd(folder.data(), folder.size()) != nullptr ? file_system_of(folder.data()) : "unknown";
  facts["fs.tmp"] = file_system_of("/tmp");
  facts["fs.zfs_arc"] = read_text("/proc/spl/kstat/zfs/arcstats") ? "present" : "none";
  const auto driver = read_text("/proc/driver/nvidia/version");
  facts["device.nvidia_driver"] = driver ? trimmed(driver->substr(0, driver->find('\n'))) : "none";
  facts["doctor.perf_event_paranoid"] = sys("/proc/sys/kernel/perf_event_paranoid");
  facts["doctor.ptrace_scope"] = sys("/proc/sys/kernel/yama/ptrace_scope");
  return facts;
}

Json machine_document(const Json& facts) { return {{"schema", machine_schema}, {"machine", facts}}; }

Json parse_machine(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("machine") || !json["machine"].is_object())
    throw FormatError(name +
                      " holds no machine facts; make some there with: lowtide doctor machine --json > machine.json");
  const Json schema = json.value("schema", Json());
  if (!schema.is_number_integer() || schema.get<long>() != machine_schema)
    throw FormatError(fmt::format("{} has machine facts of schema {}; this lowtide reads schema {}", name,
                                  schema.is_number_integer() ? std::to_string(schema.get<long>()) : "unknown",
                                  machine_schema));
  Json facts = Json::object();
  for (const auto& [key, value] : json["machine"].items()) {
    if (value.is_primitive()) facts[key] = value;
  }
  return facts;
}

Json load_machine(const std::string& path) {
  errno = 0;
  const auto text = read_text(path);
  if (!text) throw IoError(fmt::format("cannot read {}: {}", path, std::strerror(errno)), errno, path);
  return parse_machine(*text, path);
}

}  // namespace lowtide::doctor
