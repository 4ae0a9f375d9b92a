#include "lowtide/doctor/rule/machine_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace lowtide::doctor {
namespace {

struct Known {
  std::string_view key;
  std::string_view kinds;  // those it explains, separated by spaces
  std::string_view why;
  std::string_view fix;  // {} is the value of the first machine
};

constexpr std::array<Known, 34> known = {{
    {"cpu.count", "allocator native",
     "glibc makes up to 8 arenas a core, and libraries a thread a core: each keeps freed memory of its own",
     "MALLOC_ARENA_MAX=2 OMP_NUM_THREADS={}"},
    {"env.MALLOC_ARENA_MAX", "allocator", "caps the arenas in which malloc keeps freed memory", "MALLOC_ARENA_MAX={}"},
    {"env.MALLOC_TRIM_THRESHOLD_", "allocator", "decides when freed memory at the top of the heap goes back",
     "MALLOC_TRIM_THRESHOLD_={}"},
    {"env.MALLOC_MMAP_THRESHOLD_", "allocator", "decides which blocks are mapped one by one and go back at once",
     "MALLOC_MMAP_THRESHOLD_={}"},
    {"env.GLIBC_TUNABLES", "allocator", "tunes malloc", "GLIBC_TUNABLES={}"},
    {"env.MALLOC_CONF", "allocator", "tunes jemalloc: decay and background threads", "MALLOC_CONF={}"},
    {"env.LD_PRELOAD", "allocator native", "another allocator, or something that hooks it, is loaded first",
     "LD_PRELOAD={}"},
    {"loaded.allocator", "allocator", "the two run different allocators", "LD_PRELOAD the same one, or none"},
    {"libc.version", "allocator native", "malloc differs between versions of glibc", "the same base image"},
    {"env.PYTHONMALLOC", "allocator objects", "decides which allocator small Python objects use", "PYTHONMALLOC={}"},
    {"python.version", "garbage objects",
     "the garbage collector differs: 3.14.0 to 3.14.4 collect incrementally and later", "the same Python"},
    {"env.ONEDNN_PRIMITIVE_CACHE_CAPACITY", "allocator native", "oneDNN keeps code for each input shape",
     "ONEDNN_PRIMITIVE_CACHE_CAPACITY={}"},
    {"env.LRU_CACHE_CAPACITY", "allocator native", "oneDNN in PyTorch keeps a primitive for each shape",
     "LRU_CACHE_CAPACITY={}"},
    {"env.OMP_NUM_THREADS", "allocator native", "each thread has an arena and buffers of its own",
     "OMP_NUM_THREADS={}"},
    {"env.MKL_NUM_THREADS", "allocator native", "each thread has buffers of its own", "MKL_NUM_THREADS={}"},
    {"env.OPENBLAS_NUM_THREADS", "allocator native", "each thread has buffers of its own", "OPENBLAS_NUM_THREADS={}"},
    {"loaded.openmp", "native", "another OpenMP runtime keeps its threads and their memory in other ways",
     "install the same one"},
    {"loaded.blas", "native", "another BLAS keeps other buffers", "install the same one"},
    {"cpu.isa", "native", "libraries choose other code for other instructions",
     "ONEDNN_MAX_CPU_ISA, MKL_ENABLE_INSTRUCTIONS"},
    {"cpu.vendor", "native", "libraries choose other code for another vendor", ""},
    {"memory.thp", "allocator warm_up large native objects", "with huge pages a touched byte may cost 2 MiB",
     "echo {} > /sys/kernel/mm/transparent_hugepage/enabled"},
    {"memory.thp_defrag", "warm_up large", "decides how hard the kernel tries for huge pages",
     "echo {} > /sys/kernel/mm/transparent_hugepage/defrag"},
    {"env.NUMPY_MADVISE_HUGEPAGE", "warm_up large objects", "NumPy asks for huge pages", "NUMPY_MADVISE_HUGEPAGE={}"},
    {"memory.page_size", "allocator warm_up large", "a larger page makes each small mapping and each arena larger", ""},
    {"memory.total", "mapped_files page_cache", "the page cache fills what there is: more memory shows more of it", ""},
    {"memory.swap_total", "mapped_files page_cache large",
     "with swap, private pages leave and resident memory looks smaller", ""},
    {"cgroup.limit", "mapped_files page_cache", "a limit makes the kernel take page cache back sooner",
     "the same limit for both"},
    {"cgroup.version", "page_cache kernel", "versions 1 and 2 count, and show, other things as usage", ""},
    {"shm.size", "shared_memory", "/dev/shm bounds what workers can share", "docker run --shm-size={}"},
    {"limit.open_files", "shared_memory",
     "with few descriptors PyTorch falls back to files in /dev/shm that a killed worker leaves behind", "ulimit -n {}"},
    {"fs.here", "page_cache mapped_files kernel", "file systems cache in other ways (ZFS keeps its own cache)", ""},
    {"fs.tmp", "shared_memory", "temporary files on tmpfs are memory", "TMPDIR on a disk"},
    {"fs.zfs_arc", "kernel page_cache", "ZFS keeps its cache outside the page cache", "options zfs zfs_arc_max=…"},
    {"device.nvidia_driver", "device kernel", "drivers keep host memory of their own, and some versions leak it",
     "the same driver"},
}};

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

bool contains_word(std::string_view words, std::string_view word) {
  return !word.empty() && (" " + std::string(words) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

}  // namespace

std::vector<Difference> machine_differences(const Json& a, const Json& b, const std::string& kind) {
  std::vector<Difference> differences;
  const auto add = [&](const std::string& key, const std::string& left, const std::string& right) {
    if (left == right) return;
    Difference d{key, left, right, "", "", 0};
    const auto fact = std::find_if(known.begin(), known.end(), [&](const Known& k) { return k.key == key; });
    if (fact != known.end()) {
      d.why = fact->why;
      d.fix = fact->fix;
      if (const std::size_t at = d.fix.find("{}"); at != std::string::npos) {
        if (left == "unset")
          d.fix = "unset " + key.substr(key.find('.') + 1);
        else
          d.fix.replace(at, 2, left);
      }
      d.rank = contains_word(fact->kinds, kind) ? 2000 : 1000;
      d.rank -= static_cast<int>(fact - known.begin());
    }
    differences.push_back(std::move(d));
  };
  for (const auto& [key, value] : a.items()) add(key, text_of(value), b.contains(key) ? text_of(b[key]) : "not said");
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) add(key, "not said", text_of(value));
  }
  std::stable_sort(differences.begin(), differences.end(),
                   [](const Difference& x, const Difference& y) { return x.rank > y.rank; });
  return differences;
}

}  // namespace lowtide::doctor
