#include "lowtide/io/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <chrono>

#include <cerrno>

#include "lowtide/error.h"
#include "lowtide/io/output.h"
#include "lowtide/io/test_file.h"
#include "lowtide/io/transfer.h"

namespace lowtide::io {
namespace {

using testing::HasSubstr;

int code_of(const std::string& path) {
  try {
    File::open(path, Access::read);
  } catch (const IoError& error) {
    EXPECT_THAT(error.what(), HasSubstr(path));
    return error.code();
  }
  return 0;
}

TEST(File, RefusesWhatIsNotARegularFile) {
  const TestFolder folder;
  EXPECT_EQ(code_of(folder / "absent"), ENOENT);
  EXPECT_EQ(code_of("/dev"), EISDIR);
  EXPECT_EQ(code_of("/dev/zero"), EINVAL);
  mkfifo((folder / "pipe").c_str(), 0600);
  EXPECT_EQ(code_of(folder / "pipe"), EINVAL);
}

TEST(File, ReadsItsHeadWhileItIsOpened) {
  const TestFolder folder;
  const auto file = File::open(folder.pattern("x", 100), Access::read);
  const auto head = file->take_head();
  ASSERT_EQ(head.size(), 100u);
  EXPECT_EQ(head[99], static_cast<std::byte>(pattern_byte(99)));
}

TEST(File, AnUnknownModeIsNamedInTheRefusal) {
  const TestFolder folder;
  const ForcedMode mode("fast");
  EXPECT_THROW(File::open(folder.pattern("x", 100), Access::read), std::invalid_argument);
}

TEST(File, AStampOfThisVeryMomentDoesNotTellALaterWriteFromThisState) {
  const TestFolder folder;
  const auto path = folder.pattern("x", 4096);
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(path, now - std::chrono::hours(1));
  EXPECT_TRUE(File::open(path, Access::read)->stamp_tells());
  std::filesystem::last_write_time(path, now + std::chrono::hours(1));
  EXPECT_FALSE(File::open(path, Access::read)->stamp_tells());
}

TEST(File, NoticesAWriteFromOutside) {
  const TestFolder folder;
  const auto path = folder.pattern("x", 8192);
  const auto file = File::open(path, Access::read);
  const auto pin = file->pin();
  file->check_unchanged();
  std::ofstream(path, std::ios::in | std::ios::out | std::ios::binary).write("changed", 7);
  EXPECT_THROW(file->check_unchanged(), DataChangedError);
}

TEST(File, NoticesATruncationWithBothSizes) {
  const TestFolder folder;
  const auto path = folder.pattern("x", 8192);
  const auto file = File::open(path, Access::read);
  const auto pin = file->pin();
  std::filesystem::resize_file(path, 100);
  try {
    file->check_unchanged();
    FAIL();
  } catch (const DataChangedError& error) {
    EXPECT_THAT(error.what(), HasSubstr("from 8192 to 100 bytes"));
  }
}

TEST(File, AcceptsWhatThisProcessWroteThroughAnotherFile) {
  const TestFolder folder;
  const auto path = folder.pattern("x", 8192);
  const auto reader = File::open(path, Access::read);
  const auto writer = File::open(path, Access::read_write);
  const auto pin = reader->pin();
  const auto writer_pin = writer->pin();
  const std::byte one{1};
  write_cached_fully(*writer, &one, 5, 1);
  writer->accept_change();
  reader->check_unchanged();
}

TEST(File, KeepsReadingTheOldFileWhenANewOneTakesItsName) {
  const TestFolder folder;
  const auto path = folder.pattern("x", 8192);
  const auto file = File::open(path, Access::read);
  const auto pin = file->pin();
  std::filesystem::rename(folder.pattern("y", 4096), path);
  file->check_unchanged();
  EXPECT_EQ(file->size_bytes(), 8192u);
}

TEST(File, MoreFilesThanDescriptorsCanBeOpen) {
  const TestFolder folder;
  std::vector<std::string> paths;
  for (int i = 0; i < 60; ++i)
    paths.push_back(folder.pattern("x" + std::to_string(i), 4096 + static_cast<std::uint64_t>(i)));
  rlimit saved{};
  getrlimit(RLIMIT_NOFILE, &saved);
  const rlimit few{open_descriptors() + 12, saved.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<std::shared_ptr<File>> files;
  for (const auto& path : paths) files.push_back(File::open(path, Access::read));
  alignas(direct_align) std::byte page[direct_align];
  for (int round = 0; round < 2; ++round) {
    for (const auto& file : files) {
      const auto pin = file->pin();
      read_fully(*file, page, 0, sizeof page, sizeof page);
      EXPECT_EQ(page[7], static_cast<std::byte>(pattern_byte(7)));
    }
  }
  setrlimit(RLIMIT_NOFILE, &saved);
}

TEST(OutputFile, AppearsOnlyWhenCommitted) {
  const TestFolder folder;
  {
    OutputFile out = OutputFile::create(folder / "x", false);
    out.reserve(8192);
    EXPECT_FALSE(std::filesystem::exists(folder / "x"));
    out.commit(5000);
  }
  EXPECT_EQ(std::filesystem::file_size(folder / "x"), 5000u);
  EXPECT_EQ(folder.count(), 1u);
}

TEST(OutputFile, LeavesNothingWhenDropped) {
  const TestFolder folder;
  {
    OutputFile::create(folder / "x", false).reserve(1 << 20);
  }
  EXPECT_EQ(folder.count(), 0u);
}

TEST(OutputFile, DoesNotReplaceUnlessAsked) {
  const TestFolder folder;
  const auto path = folder.pattern("x", 10);
  EXPECT_THROW(OutputFile::create(path, false), IoError);
  OutputFile::create(path, true).commit(20);
  EXPECT_EQ(std::filesystem::file_size(path), 20u);
  EXPECT_EQ(folder.count(), 1u);
}

TEST(OutputFile, ANameTakenMeanwhileIsNotReplaced) {
  const TestFolder folder;
  OutputFile out = OutputFile::create(folder / "x", false);
  folder.pattern("x", 10);
  EXPECT_THROW(out.commit(20), IoError);
  EXPECT_EQ(std::filesystem::file_size(folder / "x"), 10u);
}

TEST(OutputFile, KeepsThePermissionsOfWhatItReplaces) {
  const TestFolder folder;
  const auto path = folder.pattern("x", 10);
  chmod(path.c_str(), 0640);
  OutputFile::create(path, true).commit(20);
  struct stat s{};
  stat(path.c_str(), &s);
  EXPECT_EQ(s.st_mode & 07777, 0640u);
}

TEST(OutputFile, FollowsASymbolicLinkToItsTarget) {
  const TestFolder folder;
  const auto path = folder.pattern("x", 10);
  std::filesystem::create_symlink(path, folder / "link");
  OutputFile::create(folder / "link", true).commit(20);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(std::filesystem::file_size(path), 20u);
}

TEST(OutputFile, AMissingFolderIsNamed) {
  const TestFolder folder;
  EXPECT_THROW(OutputFile::create(folder / "absent/x", false), IoError);
}

}  // namespace
}  // namespace lowtide::io
