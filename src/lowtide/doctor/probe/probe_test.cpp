#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "lowtide/base/units.h"
#include "lowtide/doctor/probe/cgroup.h"
#include "lowtide/doctor/probe/file_cache.h"
#include "lowtide/doctor/probe/machine.h"
#include "lowtide/doctor/probe/process.h"
#include "lowtide/doctor/probe/text_file.h"
#include "lowtide/error.h"

namespace lowtide::doctor {
namespace {

class Folder {
 public:
  Folder() {
    char pattern[] = "/tmp/probe_test_XXXXXX";
    path_ = mkdtemp(pattern);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(TextFile, FieldsAreFoundByTheirWholeName) {
  EXPECT_EQ(field_bytes("RssAnonX:\t1 kB\nRssAnon:\t  12 kB\n", "RssAnon"), 12u * 1024);
  EXPECT_EQ(field_bytes("total_cache 7\ncache 5\n", "cache"), 5u);
  EXPECT_EQ(field_bytes("anon 5", "file"), 0u);
}

TEST(Process, ThisOneGrowsByWhatItTouches) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer's own memory is resident too";
#endif
  const auto before = look_at_process(getpid(), true);
  constexpr std::size_t bytes = 32_MiB;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(p, 1, bytes);
  const auto after = look_at_process(getpid(), true);
  munmap(p, bytes);
  ASSERT_TRUE(before && after);
  EXPECT_NEAR(static_cast<double>(after->anon - before->anon), bytes, 2e6);
  EXPECT_NEAR(static_cast<double>(after->pss_anon - before->pss_anon), bytes, 2e6);
}

TEST(Process, OneThatIsGoneIsNothing) { EXPECT_FALSE(look_at_process(0x3FFFFFF, true)); }

TEST(Tree, FollowsChildrenAndThoseWhoseParentDied) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const int middle = fork();
  if (middle == 0) {
    const int leaf = fork();
    if (leaf == 0) {
      pause();
      _exit(0);
    }
    [[maybe_unused]] const auto count = write(channel[1], &leaf, sizeof leaf);
    pause();
    _exit(0);
  }
  int leaf = 0;
  ASSERT_EQ(read(channel[0], &leaf, sizeof leaf), static_cast<ssize_t>(sizeof leaf));
  Tree tree(getpid());
  const auto has = [&](int pid) {
    const auto all = tree.look();
    return std::any_of(all.begin(), all.end(), [&](const auto& p) { return p.pid == pid; });
  };
  EXPECT_TRUE(has(middle));
  EXPECT_TRUE(has(leaf));
  kill(middle, SIGKILL);
  waitpid(middle, nullptr, 0);
  EXPECT_TRUE(has(leaf));
  EXPECT_FALSE(has(middle));
  kill(leaf, SIGKILL);
  close(channel[0]), close(channel[1]);
}

TEST(Cgroup, VersionTwoIsRead) {
  const Folder folder;
  folder.write("proc/5/cgroup", "0::/app/web\n");
  folder.write("sys/app/web/memory.current", "1000\n");
  folder.write("sys/app/web/memory.max", "max\n");
  folder.write("sys/app/web/memory.stat", "anon 400\nfile 300\nshmem 100\nkernel 200\nslab 50\nactive_file 20\n");
  folder.write("sys/app/web/memory.events", "low 0\noom_kill 2\n");
  folder.write("sys/app/web/cgroup.procs", "5\n");
  const CgroupSample s = Cgroup::of(5, folder.path() + "/proc", folder.path() + "/sys").look({5});
  EXPECT_TRUE(s.present && s.own);
  EXPECT_EQ(s.usage, 1000u);
  EXPECT_EQ(s.limit, 0u);
  EXPECT_EQ(s.file, 200u);
  EXPECT_EQ(s.oom_kills, 2u);
  EXPECT_FALSE(Cgroup::of(5, folder.path() + "/proc", folder.path() + "/sys").look({6}).own);
}

TEST(Cgroup, VersionOneIsRead) {
  const Folder folder;
  folder.write("proc/5/cgroup", "4:memory:/app\n0::/\n");
  folder.write("sys/memory/app/memory.usage_in_bytes", "1000\n");
  folder.write(
      "sys/memory/app/memory.stat",
      "rss 1\ntotal_rss 400\ntotal_cache 300\ntotal_shmem 100\nhierarchical_memory_limit 9223372036854771712\n");
  folder.write("sys/memory/app/cgroup.procs", "5\n9\n");
  const CgroupSample s = Cgroup::of(5, folder.path() + "/proc", folder.path() + "/sys").look({5});
  EXPECT_TRUE(s.present);
  EXPECT_FALSE(s.own);
  EXPECT_EQ(s.anon, 400u);
  EXPECT_EQ(s.file, 200u);
  EXPECT_EQ(s.limit, 0u);
}

TEST(Cgroup, NoneIsNoFailure) {
  const Folder folder;
  EXPECT_FALSE(Cgroup::of(5, folder.path(), folder.path()).look({5}).present);
}

TEST(FileCache, CountsWhatIsCachedOfAFileThatIsOpen) {
  const Folder folder;
  const std::string path = folder.write("big.bin", std::string(8_MiB, 'x'));
  EXPECT_EQ(cached_bytes(path), 8_MiB);
  const int fd = open(path.c_str(), O_RDONLY);
  FileCache cache;
  const auto files = cache.look({getpid()});
  close(fd);
  EXPECT_TRUE(
      std::any_of(files.begin(), files.end(), [&](const auto& f) { return f.path == path && f.cached == 8_MiB; }));
  EXPECT_EQ(cached_bytes(folder.path() + "/none"), 0u);
}

TEST(Machine, FactsComeBackAsTheyWereWritten) {
  const Json facts = machine_facts();
  EXPECT_GT(facts["memory.total"].get<std::uint64_t>(), 0u);
  EXPECT_EQ(parse_machine(machine_document(facts).dump(), "x"), facts);
}

TEST(Machine, ForeignFilesAreRefused) {
  EXPECT_THROW(parse_machine("", "x"), FormatError);
  EXPECT_THROW(parse_machine("[]", "x"), FormatError);
  EXPECT_THROW(parse_machine("{\"machine\": 3}", "x"), FormatError);
  EXPECT_THROW(parse_machine("{\"schema\": 7, \"machine\": {}}", "x"), FormatError);
}

}  // namespace
}  // namespace lowtide::doctor
