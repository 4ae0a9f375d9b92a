// What one look at a tree of processes saw. Plain values: probes fill them, the timeline stores them, rules read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lowtide::doctor {

// A process as /proc shows it, in bytes. `anon`, `file` and `shmem` count what is resident, however many processes share it; the
// `pss_` fields divide shared pages among those who share them, so that they add up over a tree.
struct ProcessSample {
  int pid = 0, parent = 0;
  std::uint64_t start_ticks = 0;  // since boot: tells a process from a later one of the same number
  std::string name;
  std::uint64_t anon = 0, file = 0, shmem = 0, swap = 0, page_tables = 0, mapped = 0;  // mapped: address space
  std::uint64_t threads = 0, fds = 0;
  bool exact = false;  // the fields below could be read
  std::uint64_t pss_anon = 0, pss_file = 0, pss_shmem = 0, swap_pss = 0;
  std::uint64_t private_dirty = 0, shared_dirty = 0, lazy_free = 0, anon_huge = 0;
};

// The memory cgroup of the tree. `own`: nobody but the tree and its doctor is in it, so that its charge is the tree's.
struct CgroupSample {
  bool present = false, own = false;
  std::uint64_t usage = 0, limit = 0;  // limit 0: none
  std::uint64_t anon = 0, file = 0, active_file = 0, shmem = 0, slab = 0, kernel = 0, oom_kills = 0;
  double pressure = 0;  // PSI "some", 10 s average, percent; 0 where the kernel does not tell
};

// A file that the tree has open or mapped.
struct FileSample {
  std::string path;
  std::uint64_t cached = 0, mapped = 0;  // pages in the page cache; of these, resident in a map of the tree
  bool operator==(const FileSample&) const = default;
};

struct Sample {
  double time_s = 0;  // CLOCK_MONOTONIC
  std::vector<ProcessSample> processes;
  CgroupSample cgroup;
  std::vector<FileSample> files;  // the largest by cached bytes
  std::uint64_t shm_used = 0;     // of the tmpfs at /dev/shm, by whomever
  std::uint64_t shm_of_tree = 0;  // of it: files that a process of this user made since the watch began, or maps
  std::uint64_t memory_available = 0, slab = 0;  // of the machine
  std::uint64_t device = 0;                      // NVML, of the processes of the tree
};

// Something that holds memory in a Python process, as the census found it.
struct Holder {
  std::string type;   // "numpy.ndarray", "dict", …
  std::string where;  // "train.py:88 list 'losses' → Tensor", empty where nobody was found
  std::string note;   // "autograd graph", "view of a large base", "lru_cache", … : what rules recognise
  std::uint64_t count = 0, bytes = 0;
};

// Live bytes by allocation stack, innermost frame first.
struct LiveStack {
  std::uint64_t bytes = 0;
  std::vector<std::string> frames;
};

// What a watched process says of itself: the Python side or the allocation sampler.
struct AgentSample {
  double time_s = 0;
  int pid = 0;
  bool python = false, sampler = false;
  bool exiting = false;  // said once, when the program's own code has ended
  bool has_malloc = false;
  std::uint64_t malloc_live = 0, malloc_mmapped = 0, malloc_held = 0;  // mallinfo2: uordblks, hblkhd, fordblks
  std::uint64_t arenas = 0;
  std::uint64_t blocks = 0;        // sys.getallocatedblocks()
  std::uint64_t pymalloc = 0;      // bytes of the interpreter's own arenas
  std::uint64_t array_bytes = 0;   // unique storages of arrays and tensors
  std::uint64_t object_bytes = 0;  // other objects, as far as they were counted
  std::uint64_t garbage = 0;       // what gc.collect() gave back
  bool gc_enabled = true, gc_probed = false, has_census = false;
  double census_s = 0;  // how long it took, from time_s on: it takes memory itself while it counts
  std::uint64_t steps = 0;
  std::uint64_t lowtide_held = 0, lowtide_limit = 0;
  std::uint64_t pool_live = 0, pool_held = 0;  // allocators of libraries, by their own counters
  std::uint64_t trimmed = 0;                   // what malloc_trim gave back
  std::vector<Holder> holders;
  std::vector<LiveStack> stacks;
};

}  // namespace lowtide::doctor
