#include "lowtide/transfer/driver.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <set>
#include <stdexcept>

#include "lowtide/base/fault.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/io/page_cache.h"
#include "lowtide/io/test_file.h"
#include "lowtide/memory/block.h"
#include "lowtide/transfer/cached_copy.h"

namespace lowtide {
namespace {

constexpr std::uint64_t slot_bytes = 16_KiB;
constexpr std::size_t slot_count = 4;
constexpr std::uint64_t extent_count = 60;

bool is_pattern(const std::byte* data, std::uint64_t offset, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; ++i) {
    if (data[i] != static_cast<std::byte>(io::pattern_byte(offset + i))) return false;
  }
  return true;
}

class DriverModes : public testing::TestWithParam<const char*> {
 protected:
  DriverModes()
      : mode_(GetParam()), memory_(Block::allocate(Budget::process().take(64_KiB, Purpose::staging, "a test"))) {
    for (const char* name : {"a", "b"})
      files_.push_back(io::File::open(folder_.pattern(name, 1_MiB), io::Access::read));
  }
  Driver::Options options() const {
    return {.mode = files_[0]->mode(),
            .depth = 128,
            .slots = {memory_.data(), memory_.size_bytes()},
            .slot_bytes = slot_bytes,
            .pin = true};
  }
  // At odd places of two files in turn.
  Move move(std::uint64_t i) const {
    const std::uint64_t begin = i * 17'001 % 1'000'000;
    return {.file = files_[i % 2].get(), .extent = {.begin = begin, .end = begin + 5'000}, .tag = i};
  }

  io::TestFolder folder_;
  io::ForcedMode mode_;
  Block memory_;
  std::vector<std::shared_ptr<io::File>> files_;
};
INSTANTIATE_TEST_SUITE_P(Every, DriverModes, testing::Values("uring", "threads", "dontcache", "buffered"));

TEST_P(DriverModes, ExtentsOfSeveralFilesArriveOnceEachThroughAFewSlots) {
  std::multiset<std::uint64_t> seen;
  Driver driver(options(), [&](const Arrival& a) {
    a.check();
    const Extent& e = a.move.extent;
    EXPECT_TRUE(is_pattern(a.memory + (e.begin - a.offset), e.begin, e.end - e.begin));
    seen.insert(a.move.tag);
  });
  for (std::uint64_t i = 0; i < extent_count; ++i) {
    driver.start(move(i));
    EXPECT_LE(driver.in_flight(), slot_count);
  }
  driver.finish();
  EXPECT_EQ(seen.size(), extent_count);
  EXPECT_EQ(std::set<std::uint64_t>(seen.begin(), seen.end()).size(), extent_count);
}

TEST_P(DriverModes, AReceiverThatThrowsLosesNothingThatArrivedWithIt) {
  std::size_t received = 0;
  Driver driver(options(), [&](const Arrival&) {
    if (++received % 3 == 0) throw std::runtime_error("the receiver's own");
  });
  std::size_t thrown = 0;
  const auto until_it_works = [&](auto work) {
    while (true) {
      try {
        work();
        return;
      } catch (const std::runtime_error&) {
        ++thrown;
      }
    }
  };
  for (std::uint64_t i = 0; i < extent_count; ++i) until_it_works([&] { driver.start(move(i)); });
  until_it_works([&] { driver.finish(); });
  EXPECT_EQ(received, extent_count);
  EXPECT_GT(thrown, 0u);
}

TEST_P(DriverModes, EveryRequestThatFailsIsToldOnceAndTheRestIsRight) {
  for (const auto stage : {fault::Stage::submit, fault::Stage::complete}) {
    for (std::int64_t nth = 1;; ++nth) {
      ASSERT_LT(nth, 1000) << "no end";
      std::size_t arrived = 0, failed = 0;
      const fault::Scope scope({.stage = stage, .nth = nth, .error = EIO});
      Driver driver(options(), [&](const Arrival& a) {
        ++arrived;
        if (a.error != 0) {
          EXPECT_THROW(a.check(), IoError);
          ++failed;
          return;
        }
        const Extent& e = a.move.extent;
        EXPECT_TRUE(is_pattern(a.memory + (e.begin - a.offset), e.begin, e.end - e.begin));
      });
      for (std::uint64_t i = 0; i < 12; ++i) driver.start(move(i));
      driver.finish();
      EXPECT_EQ(arrived, 12u) << "operation " << nth;
      const bool met = fault::seen(stage) >= nth;
      EXPECT_EQ(failed, met ? 1u : 0u) << "operation " << nth;
      if (!met) break;
    }
  }
}

TEST_P(DriverModes, AnInterruptEndsItWithNothingInFlight) {
  static bool stop;
  stop = false;
  set_interrupt_hook([] {
    if (stop) throw CancelledError("stop");
  });
  {
    Driver driver(options(), [](const Arrival&) {});
    for (std::uint64_t i = 0; i < slot_count; ++i) driver.start(move(i));
    stop = true;
    EXPECT_THROW(
        {
          for (std::uint64_t i = 0; i < 1'000'000; ++i) driver.start(move(i));
        },
        CancelledError);
  }
  set_interrupt_hook(nullptr);
  // The memory is nobody's now: what is put there stays.
  std::fill_n(memory_.data(), memory_.size_bytes(), std::byte{7});
  for (std::size_t i = 0; i < memory_.size_bytes(); ++i) ASSERT_EQ(memory_.data()[i], std::byte{7});
}

// Whoever maps a file leaves marks in the page cache at which the kernel reads ahead.
TEST(CachedCopy, OfAPartlyCachedFileBringsNothingIn) {
  constexpr std::uint64_t bytes = 64_MiB;
  const io::TestFolder folder;
  const auto file = io::File::open(folder.pattern("x", bytes), io::Access::read);
  if (!io::is_direct(file->mode())) GTEST_SKIP() << "what is cached is only looked at in direct modes";
  const auto pin = file->pin();
  auto* map = static_cast<const volatile char*>(mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file->fd(), 0));
  ASSERT_NE(map, MAP_FAILED);
  for (std::uint64_t at = 0; at < bytes; at += 16_MiB) (void)map[at + 3_MiB];
  munmap(const_cast<char*>(map), bytes);
  const auto cached_pages = [&] {
    io::CacheCount count;
    EXPECT_TRUE(io::count_cached(file->fd(), 0, bytes, count));
    return count.cached_pages;
  };
  const std::uint64_t before = cached_pages();
  if (before == bytes / page_bytes) GTEST_SKIP() << "the kernel has read all of it ahead";
  std::vector<std::byte> page(page_bytes);
  std::uint64_t copied = 0;
  for (std::uint64_t at = 0; at < bytes; at += page_bytes) {
    if (!copy_cached(*file, page.data(), {at, at + page_bytes})) continue;
    ++copied;
    ASSERT_TRUE(is_pattern(page.data(), at, page_bytes));
  }
  EXPECT_GT(copied, before - before / 8);  // the kernel may take a page back meanwhile
  EXPECT_LE(cached_pages(), before);
}

}  // namespace
}  // namespace lowtide
