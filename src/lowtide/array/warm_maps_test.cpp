#include "lowtide/transfer/warm_maps.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cstdio>
#include <utility>

#include "lowtide/array/prepare.h"
#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/io/test_file.h"

namespace lowtide {
namespace {

// Where this process has mapped a file.
std::pair<std::byte*, std::size_t> mapping_of(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (line.ends_with(path) && std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2)
      return {reinterpret_cast<std::byte*>(begin), end - begin};
  }
  return {nullptr, 0};
}

// In a child: puts memory where its parent has the map, lets `use` happen, and sees whether the memory is still there.
template <class Use>
int leaves_memory_alone(std::byte* at, std::size_t bytes, Use use) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
  if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != at) return 2;
  *at = std::byte{7};
  use();
  return msync(at, bytes, MS_ASYNC) == 0 && *at == std::byte{7} ? 0 : 1;
}

class ForkedWarmMaps : public testing::Test {
 protected:
  ForkedWarmMaps() : path_(folder_.pattern("x", 1 << 20)) {
    prepare_process();
    set_budget(std::uint64_t{64_MiB});
    warm(path_);
  }

  static void warm(const std::string& path) {
    std::vector<char> all(1 << 20);
    std::ifstream(path, std::ios::binary).read(all.data(), static_cast<std::streamsize>(all.size()));
  }

  template <class Use>
  void expect_parents_map_survives(Use use) {
    const auto file = io::File::open(path_, io::Access::read);
    const auto pin = file->pin();
    ASSERT_TRUE(WarmMaps::process().find(*file));
    const auto [at, bytes] = mapping_of(path_);
    ASSERT_NE(at, nullptr);
    const pid_t child = fork();
    if (child == 0) _exit(leaves_memory_alone(at, bytes, use));
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    WarmMaps::process().evict(UINT64_MAX);
    EXPECT_EQ(mapping_of(path_).first, nullptr);  // while the parent's own is given up when asked for
  }

  io::TestFolder folder_;
  std::string path_;
};

TEST_F(ForkedWarmMaps, AChildThatEvictsDoesNotUnmapWhatTookTheirPlace) {
  expect_parents_map_survives([] { WarmMaps::process().evict(UINT64_MAX); });
}

TEST_F(ForkedWarmMaps, AChildThatMapsAFileItselfDoesNotUnmapWhatTookTheirPlace) {
  const std::string other = folder_.pattern("y", 1 << 20);
  warm(other);
  expect_parents_map_survives([&] {
    const auto file = io::File::open(other, io::Access::read);
    const auto pin = file->pin();
    if (!WarmMaps::process().find(*file)) _exit(3);
    WarmMaps::process().evict(UINT64_MAX);
  });
}

}  // namespace
}  // namespace lowtide
