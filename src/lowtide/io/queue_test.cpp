#include "lowtide/io/queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "lowtide/base/fault.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/error.h"
#include "lowtide/io/page_cache.h"
#include "lowtide/io/test_file.h"
#include "lowtide/io/transfer.h"

namespace lowtide::io {
namespace {

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};
using Memory = std::unique_ptr<std::byte[], Free>;
Memory aligned(std::size_t bytes) { return Memory(static_cast<std::byte*>(std::aligned_alloc(direct_align, bytes))); }

bool matches(const std::byte* data, std::uint64_t offset, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != static_cast<std::byte>(pattern_byte(offset + i))) return false;
  }
  return true;
}

class Modes : public testing::TestWithParam<const char*> {
 protected:
  Modes() : mode_(GetParam()) {}
  std::shared_ptr<File> open(const std::string& path, Access access = Access::read) {
    auto file = File::open(path, access);
    EXPECT_EQ(name(file->mode()), GetParam()) << file->mode_reason();
    return file;
  }
  TestFolder folder_;
  ForcedMode mode_;
};
INSTANTIATE_TEST_SUITE_P(Every, Modes, testing::Values("uring", "threads", "dontcache", "buffered"));

TEST_P(Modes, ManyRequestsInFlightBringTheRightBytes) {
  constexpr std::size_t unit = 8192;
  constexpr std::size_t count = 100;
  auto file = open(folder_.pattern("x", unit * count));
  const auto pin = file->pin();
  const Memory memory = aligned(unit * count);
  Queue queue(file->mode());
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (i * 37) % count;
    queue.push({.file = file.get(),
                .memory = memory.get() + at * unit,
                .offset = at * unit,
                .bytes = unit,
                .least_bytes = unit,
                .tag = at});
  }
  std::map<std::uint64_t, int> seen;
  while (queue.in_flight() > 0) {
    for (const Completion& c : queue.wait()) {
      EXPECT_EQ(c.error, 0);
      EXPECT_EQ(c.bytes, unit);
      ++seen[c.tag];
    }
  }
  EXPECT_EQ(seen.size(), count);
  EXPECT_TRUE(matches(memory.get(), 0, unit * count));
}

TEST_P(Modes, LeaveNothingInThePageCache) {
  const std::string path = folder_.pattern("x", 4 << 20);
  auto file = open(path);
  const auto pin = file->pin();
  const Memory memory = aligned(1 << 20);
  for (std::uint64_t at = 0; at < (4 << 20); at += 1 << 20) read_fully(*file, memory.get(), at, 1 << 20, 1 << 20);
  CacheCount count;
  ASSERT_TRUE(count_cached(file->fd(), 0, 0, count));
  EXPECT_LE(count.cached_pages, 32u);
}

TEST_P(Modes, LeaveAloneWhatWasInThePageCacheBefore) {
  const std::string path = folder_.pattern("x", 1 << 20);
  std::ifstream warm(path, std::ios::binary);
  std::vector<char> all(1 << 20);
  warm.read(all.data(), 1 << 20);
  auto file = open(path);
  const auto pin = file->pin();
  EXPECT_TRUE(fully_cached(file->fd(), 0, 1 << 20));
  const Memory memory = aligned(1 << 20);
  read_fully(*file, memory.get(), 0, 1 << 20, 1 << 20);
  EXPECT_TRUE(matches(memory.get(), 0, 1 << 20));
  EXPECT_TRUE(fully_cached(file->fd(), 0, 1 << 20));
}

TEST_P(Modes, TheTailOfAnOddFileComesShortAndWhole) {
  auto file = open(folder_.pattern("x", 10'001));
  const auto pin = file->pin();
  const Memory memory = aligned(12'288);
  Queue queue(file->mode());
  queue.push(
      {.file = file.get(), .memory = memory.get(), .offset = 0, .bytes = 12'288, .least_bytes = 10'001, .tag = 1});
  const Completion c = queue.wait()[0];
  EXPECT_EQ(c.error, 0);
  EXPECT_EQ(c.bytes, 10'001u);
  EXPECT_TRUE(matches(memory.get(), 0, 10'001));
}

TEST_P(Modes, AFileThatEndsTooSoonIsEndOfFile) {
  auto file = open(folder_.pattern("x", 10'001));
  const auto pin = file->pin();
  const Memory memory = aligned(16'384);
  Queue queue(file->mode());
  queue.push(
      {.file = file.get(), .memory = memory.get(), .offset = 0, .bytes = 16'384, .least_bytes = 10'002, .tag = 1});
  EXPECT_EQ(queue.wait()[0].error, end_of_file);
}

TEST_P(Modes, ShortTransfersAndTransientErrorsAreRepeated) {
  auto file = open(folder_.pattern("x", 1 << 20));
  const auto pin = file->pin();
  for (const int error : {0, EINTR, EAGAIN, ECANCELED}) {
    const Memory memory = aligned(1 << 20);
    const fault::Scope scope({.stage = fault::Stage::complete, .nth = 1, .error = error});
    Queue queue(file->mode());
    queue.push(
        {.file = file.get(), .memory = memory.get(), .offset = 0, .bytes = 1 << 20, .least_bytes = 1 << 20, .tag = 1});
    EXPECT_EQ(queue.wait()[0].error, 0);
    EXPECT_GE(fault::seen(fault::Stage::complete), 2);
    EXPECT_TRUE(matches(memory.get(), 0, 1 << 20));
  }
}

TEST_P(Modes, APersistentErrorReachesItsRequestAndNoOther) {
  auto file = open(folder_.pattern("x", 1 << 20));
  const auto pin = file->pin();
  const Memory memory = aligned(1 << 20);
  const fault::Scope scope({.stage = fault::Stage::submit, .nth = 2, .error = EIO});
  Queue queue(file->mode());
  for (std::uint64_t tag = 0; tag < 4; ++tag) {
    const std::uint64_t at = tag << 18;
    queue.push({.file = file.get(),
                .memory = memory.get() + at,
                .offset = at,
                .bytes = 1 << 18,
                .least_bytes = 1 << 18,
                .tag = tag});
  }
  std::map<std::uint64_t, int> errors;
  while (queue.in_flight() > 0) {
    for (const Completion& c : queue.wait()) errors[c.tag] = c.error;
  }
  EXPECT_EQ(errors, (std::map<std::uint64_t, int>{{0, 0}, {1, EIO}, {2, 0}, {3, 0}}));
}

TEST_P(Modes, AQueueThatIsDroppedWaitsForItsRequests) {
  auto file = open(folder_.pattern("x", 4 << 20));
  const auto pin = file->pin();
  for (int i = 0; i < 20; ++i) {
    const Memory memory = aligned(4 << 20);
    Queue queue(file->mode());
    for (std::uint64_t at = 0; at < (4 << 20); at += 1 << 18) {
      queue.push({.file = file.get(),
                  .memory = memory.get() + at,
                  .offset = at,
                  .bytes = 1 << 18,
                  .least_bytes = 1 << 18,
                  .tag = at});
    }
  }
}

TEST_P(Modes, WritesArriveAndLeaveNothingDirty) {
  const std::string path = folder_.pattern("x", 1 << 20);
  auto file = open(path, Access::read_write);
  const auto pin = file->pin();
  const Memory memory = aligned(1 << 18);
  std::memset(memory.get(), 0x5a, 1 << 18);
  write_fully(*file, memory.get(), 1 << 18, 1 << 18);
  CacheCount count;
  ASSERT_TRUE(count_cached(file->fd(), 0, 0, count));
  EXPECT_EQ(count.dirty_pages, 0u);
  EXPECT_LE(count.cached_pages, 32u);
  read_fully(*file, memory.get(), 1 << 18, 1 << 18, 1 << 18);
  EXPECT_EQ(memory[0], std::byte{0x5a});
}

TEST_P(Modes, AChildOfForkReadsOnItsOwn) {
  auto file = open(folder_.pattern("x", 1 << 20));
  const auto pin = file->pin();
  const auto read_all = [&] {
    const Memory memory = aligned(1 << 20);
    Queue queue(file->mode());
    for (std::uint64_t at = 0; at < (1 << 20); at += 1 << 17) {
      queue.push({.file = file.get(),
                  .memory = memory.get() + at,
                  .offset = at,
                  .bytes = 1 << 17,
                  .least_bytes = 1 << 17,
                  .tag = at});
    }
    while (queue.in_flight() > 0) queue.wait();
    return matches(memory.get(), 0, 1 << 20);
  };
  ASSERT_TRUE(read_all());
  const pid_t child = fork();
  if (child == 0) _exit(read_all() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(read_all());
}

int interrupts = 0;

TEST_P(Modes, AWaitCanBeInterrupted) {
  auto file = open(folder_.pattern("x", 1 << 20));
  const auto pin = file->pin();
  const Memory memory = aligned(1 << 20);
  interrupts = 0;
  set_interrupt_hook([] {
    ++interrupts;
    throw CancelledError("stop");
  });
  // Never finishes: every answer is "again".
  const fault::Scope scope({.stage = fault::Stage::complete, .nth = 1, .error = EAGAIN, .persistent = true});
  Queue queue(file->mode());
  queue.push(
      {.file = file.get(), .memory = memory.get(), .offset = 0, .bytes = 1 << 20, .least_bytes = 1 << 20, .tag = 1});
  EXPECT_THROW(queue.wait(), CancelledError);
  set_interrupt_hook(nullptr);
  EXPECT_EQ(interrupts, 1);
}

}  // namespace
}  // namespace lowtide::io
