#include "lowtide/loader/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "lowtide/error.h"
#include "lowtide/io/test_file.h"

namespace lowtide {
namespace {

using Files = std::vector<std::shared_ptr<io::File>>;

std::shared_ptr<io::File> opened(const std::string& path) { return io::File::open(path, io::Access::read); }

void change_byte(const std::string& path, std::uint64_t at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 1));
}

TEST(Fingerprint, ACopyElsewhereIsTheSameData) {
  const io::TestFolder folder;
  const std::string path = folder.pattern("a", 100'001);
  std::filesystem::copy_file(path, folder / "b");
  EXPECT_EQ(fingerprint(Files{opened(path)}), fingerprint(Files{opened(folder / "b")}));
}

TEST(Fingerprint, AnyByteOfASmallFileCounts) {
  const io::TestFolder folder;
  for (const std::uint64_t bytes : {1u, 4095u, 4096u, 4097u, 500'000u}) {
    const std::string path = folder.pattern("a", bytes);
    const DataFingerprint before = fingerprint(Files{opened(path)});
    for (const std::uint64_t at : {std::uint64_t{0}, bytes / 2, bytes - 1}) {
      change_byte(path, at);
      EXPECT_NE(fingerprint(Files{opened(path)}), before) << at << " of " << bytes;
      change_byte(path, at);
    }
    EXPECT_EQ(fingerprint(Files{opened(path)}), before);
  }
}

TEST(Fingerprint, TheFileThatChangedIsNamed) {
  const io::TestFolder folder;
  Files files;
  for (int i = 0; i < 5; ++i) files.push_back(opened(folder.pattern("shard_" + std::to_string(i), 10'000)));
  const DataFingerprint saved = fingerprint(files);
  change_byte(folder / "shard_3", 5'000);
  files[3] = opened(folder / "shard_3");
  try {
    check_same(saved, fingerprint(files), files);
    FAIL() << "the change was not noticed";
  } catch (const DataChangedError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("shard_3"));
  }
}

TEST(Fingerprint, AThousandFilesStayUnderAKilobyteAndAreNamedByNeighbourhood) {
  const io::TestFolder folder;
  Files files;
  for (int i = 0; i < 1000; ++i) files.push_back(opened(folder.pattern("s" + std::to_string(1000 + i), 64)));
  const DataFingerprint saved = fingerprint(files);
  EXPECT_LE(saved.marks.size(), 256u);
  change_byte(folder / "s1500", 7);
  files[500] = opened(folder / "s1500");
  try {
    check_same(saved, fingerprint(files), files);
    FAIL() << "the change was not noticed";
  } catch (const DataChangedError& error) {
    EXPECT_THAT(error.what(), testing::ContainsRegex("one of .*s149[0-9] to .*s15[01][0-9]"));
  }
}

TEST(Fingerprint, AFileMoreIsAChange) {
  const io::TestFolder folder;
  const Files one{opened(folder.pattern("a", 10))};
  const Files two{one[0], opened(folder.pattern("b", 10))};
  EXPECT_THROW(check_same(fingerprint(one), fingerprint(two), two), DataChangedError);
}

}  // namespace
}  // namespace lowtide
