#include <fmt/format.h>

#include "lowtide/doctor/rule/ledger.h"

namespace lowtide::doctor {
namespace {

bool has(const Claim& claim, const char* word) {
  for (const std::string& line : claim.evidence) {
    if (line.find(word) != std::string::npos) return true;
  }
  return claim.where.find(word) != std::string::npos;
}

std::string for_objects(const Claim& claim) {
  if (has(claim, "autograd graph"))
    return "keep the number, not the graph: losses.append(loss.item()), or loss.detach()";
  if (has(claim, "lru_cache"))
    return "bound it: @functools.lru_cache(maxsize=128); on a method use functools.cached_property";
  if (has(claim, "view of"))
    return "keep a copy of the part, not a view of the whole: x[:10].copy(), or .clone() for a tensor";
  if (has(claim, "traceback"))
    return "do not store exceptions with their frames: error.__traceback__ = None, or traceback.clear_frames(tb)";
  if (has(claim, "Out[")) return "%config InteractiveShell.cache_size = 0, or %reset -f out";
  if (has(claim, "Queue") || has(claim, "deque"))
    return "bound it: queue.Queue(maxsize=8), collections.deque(maxlen=1000)";
  return claim.where.empty() ? "bound what keeps growing, or write it out and clear it"
                             : fmt::format("bound or clear {}", claim.where);
}

std::string for_files(const std::string& kind, const Claim& claim) {
  const std::string file = claim.where.empty() ? "file" : claim.where.substr(claim.where.rfind('/') + 1);
  if (kind == "mapped_files")
    return fmt::format(
        "nothing needs fixing; to keep the pages out: m = lt.memmap(\"{}\", dtype=…), or lt.guard(m, limit=\"512MiB\")",
        file);
  return fmt::format(
      "nothing needs fixing; to keep the pages out: lt.open(\"{}\"), or os.posix_fadvise(fd, 0, 0, "
      "os.POSIX_FADV_DONTNEED) after reading; alert on anonymous memory, not on usage",
      file);
}

}  // namespace

std::string fix_for(const std::string& kind, const Claim& claim, const Timeline&) {
  if (kind == "objects") return for_objects(claim);
  if (kind == "mapped_files" || kind == "page_cache") return for_files(kind, claim);
  if (kind == "garbage")
    return has(claim, "disabled") ? "gc.enable() in the process (for DataLoader workers: in worker_init_fn), or "
                                    "gc.collect() every few hundred steps"
                                  : "break the cycle (weakref), or gc.collect() every few hundred steps: the collector "
                                    "counts objects, not bytes";
  if (kind == "allocator") {
    if (has(claim, "arenas: threads")) return "MALLOC_ARENA_MAX=2";
    if (has(claim, "pin them")) return "PYTHONMALLOC=malloc, with ctypes.CDLL(None).malloc_trim(0) after large phases";
    if (has(claim, "pool")) return "release it: pyarrow.default_memory_pool().release_unused()";
    return "MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=131072, or ctypes.CDLL(None).malloc_trim(0) after "
           "large phases";
  }
  if (kind == "native")
    return "free what is allocated there; if it is a library's, upgrade or pin it and report the stack";
  if (kind == "shared_memory")
    return "unlink what is closed: shm.close(); shm.unlink(); files in /dev/shm and tmpfs are memory";
  if (kind == "copy_on_write")
    return "keep data that workers read in one NumPy or Arrow buffer instead of many Python objects; gc.freeze() "
           "before fork";
  if (kind == "processes")
    return "keep one pool: DataLoader(persistent_workers=True), close() and join() what is done; share data instead of "
           "pickling it to each";
  if (kind == "device")
    return "torch.cuda.empty_cache() shows whether it is a cache; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
  if (kind == "kernel") return "fewer, larger files (shards); the kernel takes names and inodes back under pressure";
  if (kind == "unexplained") return "look from inside: lowtide doctor run -- CMD…";
  return "";
}

}  // namespace lowtide::doctor
