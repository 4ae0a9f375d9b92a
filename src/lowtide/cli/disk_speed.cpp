#include "lowtide/cli/disk_speed.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <random>
#include <vector>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/io/page_cache.h"
#include "lowtide/io/queue.h"
#include "lowtide/io/transfer.h"
#include "lowtide/memory/block.h"
#include "lowtide/transfer/range.h"

namespace lowtide::cli {
namespace {

constexpr std::uint64_t random_bytes = 4_KiB;
constexpr std::size_t random_depth = 128;

// nullopt where the kernel cannot say.
std::optional<std::uint64_t> cached_bytes(const io::File& file, std::uint64_t offset, std::uint64_t bytes) {
  io::CacheCount count;
  if (!io::count_cached(file.fd(), offset, bytes, count)) return std::nullopt;
  return count.cached_pages * page_bytes;
}

// Offsets of units that are not in the page cache: one after the other from a random start, or all at random.
class ColdUnits {
 public:
  enum class Walk : std::uint8_t { forward, random };
  ColdUnits(const io::File& file, const ColdFile& cold, std::uint64_t unit_bytes, Walk walk)
      : file_(file),
        skip_cached_(cold.skip_cached),
        unit_bytes_(unit_bytes),
        walk_(walk),
        pick_(0, cold.bytes / unit_bytes - 1),
        at_(pick_(random_)) {}

  std::uint64_t next() {
    // Less than half of the file is cached, so a few tries do; a small one that fills up meanwhile is read as it is.
    std::uint64_t offset = step();
    for (int tries = 0; skip_cached_ && tries < 64 && cached_bytes(file_, offset, unit_bytes_).value_or(0) > 0; ++tries)
      offset = step();
    return offset;
  }

 private:
  std::uint64_t step() {
    at_ = walk_ == Walk::random ? pick_(random_) : at_ < pick_.max() ? at_ + 1 : 0;
    return at_ * unit_bytes_;
  }
  const io::File& file_;
  bool skip_cached_;
  std::uint64_t unit_bytes_;
  Walk walk_;
  std::mt19937_64 random_{std::random_device{}()};
  std::uniform_int_distribution<std::uint64_t> pick_;
  std::uint64_t at_;
};

// Keeps `depth` requests in flight for as long as told, and counts all that came back until the last one did.
Speed measure(io::File& file, ColdUnits units, std::uint64_t unit_bytes, std::size_t depth, double seconds) {
  using Clock = std::chrono::steady_clock;
  const io::File::Pin pin = file.pin();
  // In modes that go through the page cache, what is in flight is there a second time. One lease for both: a second would wait for
  // the first. In every mode, so that a budget is enough for all of them or refused at the first.
  const std::uint64_t block_bytes = unit_bytes * depth;
  Lease in_page_cache = Budget::process().take(2 * block_bytes, Purpose::staging, "measuring " + file.path());
  const Block block = Block::allocate(in_page_cache.split(block_bytes, Purpose::staging));
  io::Queue queue(file.mode());
  const auto push = [&](std::uint64_t slot) {
    const std::uint64_t offset = units.next();
    queue.push({.file = &file,
                .memory = block.data() + slot * unit_bytes,
                .offset = offset,
                .bytes = static_cast<std::uint32_t>(unit_bytes),
                .least_bytes = static_cast<std::uint32_t>(unit_bytes),
                .tag = slot});
  };
  Speed speed;
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  for (std::size_t slot = 0; slot < depth; ++slot) push(slot);
  std::vector<std::uint64_t> free;
  while (queue.in_flight() > 0) {
    free.clear();
    for (const io::Completion& c : queue.wait()) {
      if (c.error != 0) io::fail_request(file, true, c.error, 0, unit_bytes, c.bytes);
      speed.bytes += c.bytes;
      ++speed.requests;
      free.push_back(c.tag);
    }
    interrupt_point();
    if (elapsed() >= seconds) continue;
    for (const std::uint64_t slot : free) push(slot);
  }
  speed.seconds = elapsed();
  return speed;
}

}  // namespace

ColdFile make_cold(io::File& file) {
  const io::File::Pin pin = file.pin();
  ColdFile cold{file.path(), file.size_bytes(), false, false, ""};
  const auto before = cached_bytes(file, 0, 0);
  if (before == 0u) return cold;
  if (before && *before <= cold.bytes / 2) {
    cold.skip_cached = true;
    cold.note = fmt::format("{} of it is in the page cache: left there, and passed over", format_bytes(*before));
    return cold;
  }
  io::write_back_and_drop(file.fd(), 0, cold.bytes);
  const auto after = cached_bytes(file, 0, 0);
  if (!after) {
    cold.note = "its pages were dropped from the page cache (fadvise)";
  } else if (*after > cold.bytes / 2) {
    cold.in_memory = true;
    cold.note = fmt::format("{} of it stays in memory: these are not the figures of a disk", format_bytes(*after));
  } else {
    cold.skip_cached = *after > 0;
    cold.note = fmt::format("{} of it was in the page cache: dropped (fadvise)", format_bytes(*before));
  }
  return cold;
}

Speed measure_sequential(io::File& file, const ColdFile& cold, double seconds) {
  const Pace pace;
  return measure(file, ColdUnits(file, cold, pace.request_bytes, ColdUnits::Walk::forward), pace.request_bytes,
                 pace.depth, seconds);
}

Speed measure_random(io::File& file, const ColdFile& cold, double seconds) {
  return measure(file, ColdUnits(file, cold, random_bytes, ColdUnits::Walk::random), random_bytes, random_depth,
                 seconds);
}

}  // namespace lowtide::cli
