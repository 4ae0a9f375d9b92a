#include "lowtide/io/warm_map.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "lowtide/io/page_cache.h"

namespace lowtide::io {
namespace {

// Set while this thread copies out of a map.
struct Recovery {
  sigjmp_buf point;
  const std::byte* begin;
  const std::byte* end;
};
thread_local Recovery* recovery = nullptr;

struct sigaction previous;

void on_bus_error(int number, siginfo_t* info, void* context) {
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  if (recovery != nullptr && address >= recovery->begin && address < recovery->end) siglongjmp(recovery->point, 1);
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(number, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(number);
  signal(SIGBUS, SIG_DFL);  // the instruction runs again and ends the process as it would have
}

void install() {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  // The handler leaves by siglongjmp, so the signal must not stay blocked.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous);
}

// Whoever installs a handler after us (faulthandler) gets the signal first, and would end the process.
bool signal_is_ours() {
  static std::once_flag once;
  std::call_once(once, install);
  struct sigaction now{};
  return sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_bus_error;
}

// A signal that a fault raises ends the process if the thread blocks it.
bool signal_gets_through() {
  sigset_t blocked;
  return pthread_sigmask(SIG_BLOCK, nullptr, &blocked) == 0 && sigismember(&blocked, SIGBUS) == 0;
}

// Pages that this thread has waited for the disk to bring.
long major_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_majflt;
}

// From here on a copy is worth a look first (0.2 µs); below, the faults of many are counted together.
constexpr std::uint64_t worth_a_look_bytes = 64 * 1024;

// Rows at random places start with a miss in every cache and in the TLB: asked for two rows ahead, a copy of 4 KiB takes 0.40 µs
// instead of 0.54. A prefetch of a page that is gone does nothing.
constexpr std::size_t prefetch_distance = 2;
void prefetch(const std::byte* data) {
  for (int line = 0; line < 4; ++line) __builtin_prefetch(data + 64 * line);
}

// Nothing here has a destructor: siglongjmp returns into it from the middle of the body.
bool run_guarded(Recovery& here, WarmMap::Body body, const std::byte* data, const void* context) {
  recovery = &here;
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the handler runs on this thread, between any two instructions
  const bool whole = sigsetjmp(here.point, 0) == 0;
  if (whole) body(data, context);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  recovery = nullptr;
  return whole;
}

void copy_all(const std::byte* data, const void* context) {
  const auto& copies = *static_cast<const std::span<const WarmMap::Copy>*>(context);
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (i + prefetch_distance < copies.size()) prefetch(data + copies[i + prefetch_distance].offset);
    std::memcpy(copies[i].to, data + copies[i].offset, copies[i].bytes);
  }
}

}  // namespace

std::shared_ptr<WarmMap> WarmMap::make(const File& file) {
  const std::uint64_t bytes = file.size_bytes();
  if (bytes == 0 || !signal_is_ours()) return nullptr;
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, file.fd(), 0);
  if (data == MAP_FAILED) return nullptr;
  madvise(data, bytes, MADV_RANDOM);
  madvise(data, bytes, MADV_DONTFORK);
  return std::shared_ptr<WarmMap>(new WarmMap(static_cast<const std::byte*>(data), bytes));
}

WarmMap::~WarmMap() { munmap(const_cast<std::byte*>(data_), bytes_); }

bool WarmMap::copy(File& file, std::span<const Copy> copies) const {
  const bool look_first = copies.size() == 1;
  for (const Copy& c : copies) {
    if (c.offset + c.bytes > bytes_) return false;
    if ((look_first || c.bytes >= worth_a_look_bytes) && !fully_cached(file.fd(), c.offset, c.bytes)) {
      file.doubt_cached();
      return false;
    }
  }
  const long before = look_first ? 0 : major_faults();
  const bool whole = run(copy_all, &copies);
  if (!look_first && major_faults() != before) {
    for (const Copy& c : copies) give_back(file, c.offset, c.offset + c.bytes);
  }
  return whole;
}

bool WarmMap::read(File& file, std::uint64_t begin, std::uint64_t end, Body body, const void* context) const {
  if (end > bytes_) return false;
  const bool look_first = end - begin >= worth_a_look_bytes;
  if (look_first && !fully_cached(file.fd(), begin, end - begin)) {
    file.doubt_cached();
    return false;
  }
  const long before = look_first ? 0 : major_faults();
  const bool whole = run(body, context);
  if (!look_first && major_faults() != before) give_back(file, begin, end);
  return whole;
}

bool WarmMap::run(Body body, const void* context) const {
  if (!signal_is_ours() || !signal_gets_through()) return false;
  Recovery here{{}, data_, data_ + bytes_};
  return run_guarded(here, body, data_, context);
}

// The kernel drops pages only when they are in no page table.
void WarmMap::give_back(File& file, std::uint64_t begin, std::uint64_t end) const {
  begin = begin / direct_align * direct_align;
  madvise(const_cast<std::byte*>(data_) + begin, std::min(end, bytes_) - begin, MADV_DONTNEED);
  drop_cached(file.fd(), begin, end - begin);
  file.doubt_cached();
}

}  // namespace lowtide::io
