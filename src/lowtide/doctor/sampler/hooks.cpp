// The allocation sampler, for LD_PRELOAD: sees malloc and its family, remembers one allocation in half a MiB on average, and writes
// what is live to $LOWTIDE_DOCTOR_DIR/malloc-PID.agent. The allocator stays the one that the program would have had.
//
// The distance between two samples is exponential in bytes, so that each byte has the same chance whatever the sizes; a sampled
// block of n bytes stands for n / (1 - e^(-n/mean)) bytes, which is unbiased.
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lowtide/doctor/sampler/live_table.h"
#include "lowtide/doctor/sampler/python_stack.h"

#define LOWTIDE_EXPORT extern "C" __attribute__((visibility("default")))
#define LOWTIDE_TLS static __thread __attribute__((tls_model("initial-exec")))

namespace lowtide::sampler {
namespace {

constexpr double mean_bytes = 512 * 1024;
constexpr double notes_every_s = 0.25, stacks_every_s = 1.0;
constexpr int stacks_written = 8;

LiveTable table;
std::atomic<bool> active{false};
std::atomic<std::int64_t> pymalloc_bytes{0};
std::atomic<double> last_notes_s{0}, last_stacks_s{0};
SpinLock notes_lock;
char folder[512];
bool foreign_allocator = false;

LOWTIDE_TLS std::int64_t countdown;
LOWTIDE_TLS std::uint64_t random_state;
LOWTIDE_TLS int busy;

struct Real {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  int (*munmap)(void*, std::size_t);
};
Real real;
std::atomic<int> found{0};  // 0 no, 1 being looked for, 2 yes

// dlsym may allocate before malloc is found.
alignas(16) char early[1 << 16];
std::atomic<std::size_t> early_used{0};

bool is_early(const void* p) { return p >= early && p < early + sizeof early; }

void* early_alloc(std::size_t size) {
  const std::size_t at = early_used.fetch_add((size + 31) & ~std::size_t{15});
  return at + size <= sizeof early ? early + at : nullptr;
}

template <class Function>
void next(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool ready() {
  if (found.load(std::memory_order_acquire) == 2) return true;
  int none = 0;
  if (!found.compare_exchange_strong(none, 1)) return false;
  next("malloc", real.malloc), next("calloc", real.calloc), next("realloc", real.realloc), next("free", real.free);
  next("posix_memalign", real.posix_memalign), next("aligned_alloc", real.aligned_alloc),
      next("memalign", real.memalign);
  next("mmap", real.mmap), next("munmap", real.munmap);
  found.store(2, std::memory_order_release);
  return true;
}

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Without libm: the mantissa's logarithm by a short series, good to 1e-4.
double log_of(double x) {
  int exponent = 0;
  while (x < 0.7) x *= 2, --exponent;
  const double z = (x - 1) / (x + 1), z2 = z * z;
  return exponent * 0.6931471805599453 + 2 * z * (1 + z2 / 3 + z2 * z2 / 5 + z2 * z2 * z2 / 7);
}

double exp_of_minus(double x) {
  if (x > 30) return 0;
  double y = 1 - x / 1048576;
  for (int i = 0; i < 20; ++i) y *= y;
  return y;
}

std::int64_t next_distance() {
  if (random_state == 0)
    random_state = reinterpret_cast<std::uintptr_t>(&random_state) ^ static_cast<std::uint64_t>(now_s() * 1e9) ^
                   0x9E3779B97F4A7C15ULL;
  random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
  const double uniform = (static_cast<double>(random_state >> 11) + 0.5) / 9007199254740992.0;
  return static_cast<std::int64_t>(-log_of(uniform) * mean_bytes) + 1;
}

struct Unwind {
  Frames* frames;
  int skip;
};

_Unwind_Reason_Code one_frame(_Unwind_Context* context, void* argument) {
  auto* unwind = static_cast<Unwind*>(argument);
  if (unwind->skip-- > 0) return _URC_NO_REASON;
  Frames& frames = *unwind->frames;
  const auto address = reinterpret_cast<void*>(_Unwind_GetIP(context));
  if (address == nullptr || frames.native_count == native_depth) return _URC_END_OF_STACK;
  frames.native[frames.native_count++] = address;
  return _URC_NO_REASON;
}

class Line {
 public:
  void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    va_list arguments;
    va_start(arguments, format);
    const int count = std::vsnprintf(text_ + used_, sizeof text_ - used_, format, arguments);
    va_end(arguments);
    if (count > 0)
      used_ = used_ + static_cast<std::size_t>(count) < sizeof text_ ? used_ + static_cast<std::size_t>(count)
                                                                     : sizeof text_ - 1;
  }
  void add_quoted(const char* text) {
    add("\"");
    for (; *text != '\0'; ++text) {
      if (*text == '"' || *text == '\\')
        add("\\%c", *text);
      else if (static_cast<unsigned char>(*text) >= 0x20)
        add("%c", *text);
    }
    add("\"");
  }
  bool whole() const { return used_ + 1 < sizeof text_; }
  const char* text() const { return text_; }
  std::size_t size() const { return used_; }
  void clear() { used_ = 0; }

 private:
  char text_[48 * 1024];
  std::size_t used_ = 0;
};

Line line;  // under notes_lock

void add_native(Line& out, void* address) {
  Dl_info info{};
  char text[256];
  if (dladdr(static_cast<char*>(address) - 1, &info) == 0 || info.dli_fname == nullptr) {
    std::snprintf(text, sizeof text, "%p", address);
  } else {
    const char* slash = std::strrchr(info.dli_fname, '/');
    const char* module = slash == nullptr ? info.dli_fname : slash + 1;
    if (info.dli_sname != nullptr)
      std::snprintf(text, sizeof text, "%.150s (%.80s)", info.dli_sname, module);
    else
      std::snprintf(text, sizeof text, "%.80s+0x%zx", module,
                    static_cast<std::size_t>(static_cast<char*>(address) - static_cast<char*>(info.dli_fbase)));
  }
  out.add_quoted(text);
}

void add_stacks(Line& out) {
  const Stack* largest[stacks_written] = {};
  Stack copies[stacks_written];
  table.lock();
  const int count = table.largest(largest, stacks_written);
  for (int i = 0; i < count; ++i) copies[i] = *largest[i];
  table.unlock();
  out.add(",\"stacks\":[");
  for (int i = 0; i < count; ++i) {
    out.add("%s{\"bytes\":%lld,\"frames\":[", i == 0 ? "" : ",", static_cast<long long>(copies[i].live_bytes));
    const Frames& frames = copies[i].frames;
    bool first = true;
    for (int f = 0; f < frames.python_count; ++f) {
      if (frames.python[f] == 0) continue;
      if (!first) out.add(",");
      out.add_quoted(table.text(frames.python[f]));
      first = false;
    }
    for (int f = 0; f < frames.native_count; ++f) {
      if (!first) out.add(",");
      add_native(out, frames.native[f]);
      first = false;
    }
    out.add("]}");
  }
  out.add("]");
}

void write_notes(bool with_stacks) {
  char path[600];
  std::snprintf(path, sizeof path, "%s/malloc-%d.agent", folder, getpid());
  notes_lock.lock();
  line.clear();
  line.add("{\"t\":%.6f,\"pid\":%d,\"sampler\":true", now_s(), getpid());
  if (!foreign_allocator) {
    const struct mallinfo2 info = mallinfo2();
    line.add(",\"malloc\":{\"live\":%zu,\"mmapped\":%zu,\"held\":%zu}", info.uordblks, info.hblkhd, info.fordblks);
  }
  line.add(",\"pymalloc\":%lld", static_cast<long long>(pymalloc_bytes.load()));
  if (with_stacks) add_stacks(line);
  line.add("}\n");
  if (line.whole()) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
      [[maybe_unused]] const ssize_t count = write(fd, line.text(), line.size());
      close(fd);
    }
  }
  notes_lock.unlock();
}

void write_if_due() {
  const double now = now_s();
  double last = last_notes_s.load(std::memory_order_relaxed);
  if (now - last < notes_every_s || !last_notes_s.compare_exchange_strong(last, now)) return;
  const bool stacks = now - last_stacks_s.load() >= stacks_every_s;
  if (stacks) last_stacks_s.store(now);
  write_notes(stacks);
}

__attribute__((noinline)) void sample(void* p, std::size_t size) {
  countdown = next_distance();
  if (!active.load(std::memory_order_relaxed)) return;
  const int saved = errno;
  busy = 1;
  Frames frames;
  Unwind unwind{&frames, 2};
  _Unwind_Backtrace(one_frame, &unwind);
  frames.python_count = python_frames(table, frames.python);
  const double share = 1 - exp_of_minus(static_cast<double>(size) / mean_bytes);
  table.add(p, static_cast<std::uint64_t>(static_cast<double>(size) / (share > 1e-9 ? share : 1e-9)), frames);
  write_if_due();
  busy = 0;
  errno = saved;
}

inline void allocated(void* p, std::size_t size) {
  if (p == nullptr || busy != 0) return;
  countdown -= static_cast<std::int64_t>(size);
  if (__builtin_expect(countdown < 0, 0)) sample(p, size);
}

inline void freed(void* p) {
  if (__builtin_expect(table.may_hold(p), 0)) table.remove(p);
}

void before_fork() { notes_lock.lock(), table.lock(); }
void after_fork_in_parent() { table.unlock(), notes_lock.unlock(); }
void after_fork_in_child() {
  table.unlock(), notes_lock.unlock();
  last_notes_s.store(0), last_stacks_s.store(0);
}

__attribute__((constructor)) void start() {
  ready();
  const char* named = std::getenv("LOWTIDE_DOCTOR_DIR");
  if (named == nullptr || std::strlen(named) >= sizeof folder || access(named, W_OK) != 0) return;
  std::strcpy(folder, named);
  foreign_allocator = dlsym(RTLD_DEFAULT, "mallctl") != nullptr ||
                      dlsym(RTLD_DEFAULT, "MallocExtension_Initialize") != nullptr ||
                      dlsym(RTLD_DEFAULT, "mi_malloc") != nullptr;
  find_python();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  countdown = next_distance();
  active.store(true);
}

__attribute__((destructor)) void finish() {
  if (!active.exchange(false)) return;
  busy = 1;
  write_notes(true);
  busy = 0;
}

}  // namespace
}  // namespace lowtide::sampler

using namespace lowtide::sampler;

LOWTIDE_EXPORT void* malloc(std::size_t size) {
  if (!ready()) return early_alloc(size);
  void* p = real.malloc(size);
  allocated(p, size);
  return p;
}

LOWTIDE_EXPORT void* calloc(std::size_t count, std::size_t size) {
  if (!ready()) return early_alloc(count * size);
  void* p = real.calloc(count, size);
  allocated(p, count * size);
  return p;
}

LOWTIDE_EXPORT void* realloc(void* old, std::size_t size) {
  if (!ready() || is_early(old)) {
    void* p = ready() ? real.malloc(size) : early_alloc(size);
    if (p != nullptr && old != nullptr)
      std::memcpy(p, old,
                  size < static_cast<std::size_t>(early + sizeof early - static_cast<char*>(old))
                      ? size
                      : static_cast<std::size_t>(early + sizeof early - static_cast<char*>(old)));
    return p;
  }
  if (old != nullptr) freed(old);
  void* p = real.realloc(old, size);
  if (size != 0) allocated(p, size);
  return p;
}

LOWTIDE_EXPORT void free(void* p) {
  if (p == nullptr || is_early(p) || !ready()) return;
  freed(p);
  real.free(p);
}

LOWTIDE_EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  if (!ready()) return ENOMEM;
  const int error = real.posix_memalign(out, alignment, size);
  if (error == 0) allocated(*out, size);
  return error;
}

LOWTIDE_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t size) {
  if (!ready()) return nullptr;
  void* p = real.aligned_alloc(alignment, size);
  allocated(p, size);
  return p;
}

LOWTIDE_EXPORT void* memalign(std::size_t alignment, std::size_t size) {
  if (!ready()) return nullptr;
  void* p = real.memalign(alignment, size);
  allocated(p, size);
  return p;
}

LOWTIDE_EXPORT void* mmap(void* address, std::size_t size, int protection, int flags, int fd, off_t offset) {
  if (!ready()) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* p = real.mmap(address, size, protection, flags, fd, offset);
  if (p == MAP_FAILED || (flags & MAP_ANONYMOUS) == 0 || (protection & PROT_WRITE) == 0 || busy != 0) return p;
  // pymalloc's arenas: 256 KiB up to Python 3.9, 1 MiB since.
  if ((size == 1 << 18 || size == 1 << 20) && is_python_code(__builtin_return_address(0)))
    pymalloc_bytes += static_cast<std::int64_t>(size);
  else
    allocated(p, size);
  return p;
}

LOWTIDE_EXPORT void* mmap64(void* address, std::size_t size, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

LOWTIDE_EXPORT int munmap(void* address, std::size_t size) {
  if (!ready()) return 0;
  if ((size == 1 << 18 || size == 1 << 20) && is_python_code(__builtin_return_address(0)))
    pymalloc_bytes -= static_cast<std::int64_t>(size);
  else
    freed(address);
  return real.munmap(address, size);
}

#undef LOWTIDE_EXPORT
#undef LOWTIDE_TLS
