#include "lowtide/io/warm_map.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "lowtide/io/page_cache.h"
#include "lowtide/io/test_file.h"

namespace lowtide::io {
namespace {

// Written and left in the page cache.
std::string warm_pattern(const TestFolder& folder, std::uint64_t bytes) {
  const std::string path = folder.pattern("x", bytes);
  std::ifstream in(path, std::ios::binary);
  std::vector<char> all(bytes);
  in.read(all.data(), static_cast<std::streamsize>(bytes));
  return path;
}

TEST(WarmMap, CopiesWhatTheFileHolds) {
  const TestFolder folder;
  const auto file = File::open(warm_pattern(folder, 100'000), Access::read);
  const auto pin = file->pin();
  ASSERT_TRUE(file->wholly_cached());
  const auto map = WarmMap::make(*file);
  ASSERT_TRUE(map);
  std::vector<std::byte> out(20);
  const WarmMap::Copy copies[] = {{out.data(), 99'990, 10}, {out.data() + 10, 5, 10}};
  ASSERT_TRUE(map->copy(*file, copies));
  EXPECT_EQ(out[9], static_cast<std::byte>(pattern_byte(99'999)));
  EXPECT_EQ(out[10], static_cast<std::byte>(pattern_byte(5)));
}

TEST(WarmMap, AFileCutShortIsFalseNotASignal) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer's memcpy does not let a signal handler jump out of it";
#endif
  const TestFolder folder;
  const auto path = warm_pattern(folder, 1 << 20);
  const auto file = File::open(path, Access::read);
  const auto pin = file->pin();
  const auto map = WarmMap::make(*file);
  ASSERT_TRUE(map);
  std::filesystem::resize_file(path, 4096);
  std::vector<std::byte> out(1 << 20);
  for (int i = 0; i < 3; ++i) {  // the signal must not stay blocked
    const WarmMap::Copy copy{out.data(), 0, 1 << 20};
    EXPECT_FALSE(map->copy(*file, {&copy, 1}));
  }
  const WarmMap::Copy still_there{out.data(), 0, 4096};
  EXPECT_TRUE(map->copy(*file, {&still_there, 1}));
}

TEST(WarmMap, DoesNotCopyWhenSomebodyElseHasTakenTheSignal) {
  const TestFolder folder;
  const auto file = File::open(warm_pattern(folder, 8192), Access::read);
  const auto pin = file->pin();
  const auto map = WarmMap::make(*file);
  ASSERT_TRUE(map);
  struct sigaction ours{};
  struct sigaction theirs{};
  theirs.sa_handler = SIG_DFL;
  sigaction(SIGBUS, &theirs, &ours);
  std::byte out{};
  const WarmMap::Copy copy{&out, 0, 1};
  EXPECT_FALSE(map->copy(*file, {&copy, 1}));
  sigaction(SIGBUS, &ours, nullptr);
  EXPECT_TRUE(map->copy(*file, {&copy, 1}));
}

TEST(WarmMap, DoesNotCopyOnAThreadThatBlocksTheSignal) {
  const TestFolder folder;
  const auto file = File::open(warm_pattern(folder, 8192), Access::read);
  const auto pin = file->pin();
  const auto map = WarmMap::make(*file);
  ASSERT_TRUE(map);
  sigset_t bus, before;
  sigemptyset(&bus);
  sigaddset(&bus, SIGBUS);
  pthread_sigmask(SIG_BLOCK, &bus, &before);
  std::byte out{};
  const WarmMap::Copy copy{&out, 0, 1};
  EXPECT_FALSE(map->copy(*file, {&copy, 1}));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_TRUE(map->copy(*file, {&copy, 1}));
}

TEST(WarmMap, PagesThatWentAwayDoNotStayWhenTheyAreReadAgain) {
  const TestFolder folder;
  const auto path = warm_pattern(folder, 1 << 20);
  const auto file = File::open(path, Access::read);
  const auto pin = file->pin();
  ASSERT_TRUE(file->wholly_cached());
  const auto map = WarmMap::make(*file);
  ASSERT_TRUE(map);
  TestFolder::make_cold(path);
  std::vector<std::byte> out(64 * 4096);
  std::vector<WarmMap::Copy> copies;
  for (std::size_t i = 0; i < 64; ++i) copies.push_back({out.data() + i * 4096, i * 3 * 4096, 4096});
  ASSERT_TRUE(map->copy(*file, copies));
  EXPECT_EQ(out[4096], static_cast<std::byte>(pattern_byte(3 * 4096)));
  CacheCount count;
  ASSERT_TRUE(count_cached(file->fd(), 0, 0, count));
  EXPECT_EQ(count.cached_pages, 0u);
  EXPECT_FALSE(file->wholly_cached());
  const WarmMap::Copy alone{out.data(), 5 * 4096, 4096};
  EXPECT_FALSE(map->copy(*file, {&alone, 1}));
}

TEST(WholeFile, IsNotCachedWhenAPageIsMissing) {
  const TestFolder folder;
  const auto path = folder.pattern("x", 1 << 20);
  const auto file = File::open(path, Access::read);
  const auto pin = file->pin();
  EXPECT_FALSE(file->wholly_cached());
}

}  // namespace
}  // namespace lowtide::io
