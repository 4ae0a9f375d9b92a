#include "lowtide/io/warm_map.h"

#include <gtest/gtest.h>
#include <signal.h>

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
  ASSERT_TRUE(map->copy(copies));
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
    EXPECT_FALSE(map->copy({&copy, 1}));
  }
  const WarmMap::Copy still_there{out.data(), 0, 4096};
  EXPECT_TRUE(map->copy({&still_there, 1}));
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
  EXPECT_FALSE(map->copy({&copy, 1}));
  sigaction(SIGBUS, &ours, nullptr);
  EXPECT_TRUE(map->copy({&copy, 1}));
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
