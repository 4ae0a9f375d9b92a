#include "lowtide/guard/mapping_guard.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/io/file.h"

namespace lowtide::guard {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr nanoseconds longest_interval = std::chrono::milliseconds(5);
constexpr nanoseconds shortest_interval = std::chrono::microseconds(500);
constexpr int asking_share = 20;  // asking takes no more than a twentieth of the time
// Of what came in, a twelfth must have been touched for read-ahead to be worth its memory. A scan touches most of it; a single touch
// maps the 64 KiB around it, a sixteenth of a window of 1 MiB and half of one of 128 KiB.
constexpr std::uint64_t touched_share = 12;
constexpr std::uint64_t judged_bytes = 32_MiB;  // come in before the share is looked at
constexpr nanoseconds first_random_time = std::chrono::seconds(1);
constexpr nanoseconds longest_random_time = std::chrono::seconds(64);

// Pages of files that this process has in its page tables.
std::uint64_t touched_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;
  statm >> size >> resident >> shared;
  return shared * io::direct_align;
}

// Turns read-ahead off where it brings in much that nobody touches, and on again to see, ever more seldom.
class Advice {
 public:
  explicit Advice(const MappedFile& file) : file_(file) {}

  // REQUIRES: called before the pages are given back.
  void learn(std::uint64_t cached_bytes) {
    if (!came_in_while_watched_ || random_) return;
    const std::uint64_t now = touched_bytes();
    touched_ += now > touched_before_ ? now - touched_before_ : 0;
    came_in_ += cached_bytes;
    if (came_in_ < judged_bytes) return;
    random_ = touched_ < came_in_ / touched_share;
    if (random_) {
      file_.expect_random(true);
      until_ = Clock::now() + random_time_;
      random_time_ = std::min(2 * random_time_, longest_random_time);
    } else {
      random_time_ = first_random_time;
    }
    touched_ = came_in_ = 0;
  }
  void released() {
    touched_before_ = touched_bytes();
    came_in_while_watched_ = true;
  }
  void look_again() {
    if (random_ && Clock::now() > until_) file_.expect_random(random_ = false);
  }
  void end() {
    if (random_) file_.expect_random(random_ = false);
  }

 private:
  const MappedFile& file_;
  std::uint64_t touched_before_ = 0;
  std::uint64_t touched_ = 0, came_in_ = 0;  // since the last judgement
  bool came_in_while_watched_ = false;       // what was cached before the guard says nothing
  bool random_ = false;
  Clock::time_point until_;
  nanoseconds random_time_ = first_random_time;
};

}  // namespace

struct MappingGuard::Shared {
  Shared(Mapping mapping, std::uint64_t limit) : file(std::move(mapping)), limit_bytes(limit), advice(file) {}
  MappedFile file;
  std::uint64_t limit_bytes;
  Advice advice;
  std::mutex mutex;
  std::condition_variable stopped;
  bool stop = false;
  std::atomic<std::uint64_t> released_bytes{0};

  void watch() {
    std::uint64_t before = 0;
    std::unique_lock lock(mutex);
    while (!stop) {
      const auto asked = Clock::now();
      std::uint64_t cached = file.cached_bytes();
      const auto answered = Clock::now();
      const std::uint64_t grown = cached > before ? cached - before : 0;
      if (cached + grown > limit_bytes) {
        try {
          release(cached);
        } catch (const Error&) {
          return;  // the disk refuses write-back: the owner will meet the same error in flush()
        }
        cached = 0;
      }
      before = cached;
      advice.look_again();
      // What grows by much of the limit between two looks is looked at sooner.
      const nanoseconds soon = grown > limit_bytes / 16 ? shortest_interval : longest_interval;
      stopped.wait_for(lock, std::max<nanoseconds>(soon, asking_share * (answered - asked)));
    }
  }

  // Under the lock: stop() returns only when no release is under way.
  void release(std::uint64_t cached) {
    advice.learn(cached);
    file.release();
    advice.released();
    released_bytes += cached;
  }
};

MappingGuard::MappingGuard(Mapping mapping, std::uint64_t limit_bytes)
    : shared_(std::make_shared<Shared>(std::move(mapping), limit_bytes)) {
  std::thread([shared = shared_] { shared->watch(); }).detach();
}

MappingGuard::~MappingGuard() { stop(); }

void MappingGuard::stop() {
  if (!made_.here()) return;  // its thread is the parent's, and may have held the lock
  const std::lock_guard lock(shared_->mutex);
  if (!std::exchange(shared_->stop, true)) shared_->advice.end();
  shared_->stopped.notify_all();
}

std::uint64_t MappingGuard::released_bytes() const { return shared_->released_bytes; }

}  // namespace lowtide::guard
