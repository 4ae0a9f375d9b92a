#include "lowtide/memory/available.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lowtide/base/units.h"

namespace lowtide {
namespace {

namespace fs = std::filesystem;

class FakeSystem : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("lowtide_available_" + std::to_string(getpid()));
    write("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  Available available() const { return available_memory(root_ / "proc", root_ / "cgroup"); }
  fs::path root_;
};

TEST_F(FakeSystem, WithoutACgroupTheMachineDecides) { EXPECT_EQ(available().bytes, 8_GiB); }

TEST_F(FakeSystem, AV1LimitLessItsUsageDecidesAndReclaimableCacheIsNotUse) {
  write("proc/self/cgroup", "4:memory:/pod\n");
  write("cgroup/memory/pod/memory.limit_in_bytes", "1073741824\n");
  write("cgroup/memory/pod/memory.usage_in_bytes", "536870912\n");
  write("cgroup/memory/pod/memory.stat", "cache 300\ntotal_inactive_file 268435456\n");
  EXPECT_EQ(available().bytes, 768_MiB);
  EXPECT_EQ(available().source, "cgroup limit 1 GiB");
}

TEST_F(FakeSystem, AV1GroupWithoutALimitIsIgnored) {
  write("proc/self/cgroup", "4:memory:/pod\n");
  write("cgroup/memory/pod/memory.limit_in_bytes", "9223372036854771712\n");
  write("cgroup/memory/pod/memory.usage_in_bytes", "536870912\n");
  EXPECT_EQ(available().bytes, 8_GiB);
}

TEST_F(FakeSystem, TheTightestAncestorOfAV2GroupDecides) {
  write("proc/self/cgroup", "0::/slice/pod\n");
  write("cgroup/slice/memory.max", "2147483648\n");
  write("cgroup/slice/memory.current", "0\n");
  write("cgroup/slice/pod/memory.max", "max\n");
  write("cgroup/slice/pod/memory.current", "0\n");
  EXPECT_EQ(available().bytes, 2_GiB);
}

TEST(Available, IsPositiveOnThisMachine) { EXPECT_GT(available_memory().bytes, 0u); }

}  // namespace
}  // namespace lowtide
