#include "lowtide/io/output.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "lowtide/base/fault.h"
#include "lowtide/error.h"
#include "lowtide/io/test_file.h"

namespace lowtide::io {
namespace {

TEST(OutputFile, HasItsLengthWhereTheFileSystemCannotReserve) {
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    const TestFolder folder;
    OutputFile out = OutputFile::create(folder / "y", false);
    const fault::Scope scope({.stage = fault::Stage::call, .nth = 1, .error = error});
    out.reserve(100'000);
    EXPECT_EQ(out.file().size_bytes(), 100'000u);
    out.reserve(50'000);  // never shortens
    EXPECT_EQ(out.file().size_bytes(), 100'000u);
    out.commit(99'999);
    EXPECT_EQ(std::filesystem::file_size(folder / "y"), 99'999u);
  }
}

TEST(OutputFile, DoesNotCutWhatWasWrittenWhereTheFileSystemCannotReserve) {
  const TestFolder folder;
  OutputFile out = OutputFile::create(folder / "y", false);
  out.reserve(100'000);
  const fault::Scope scope({.stage = fault::Stage::call, .nth = 1, .error = EOPNOTSUPP});
  out.reserve(50'000);
  EXPECT_EQ(out.file().size_bytes(), 100'000u);
}

TEST(OutputFile, AFullDiskIsRefusedWhenReserving) {
  const TestFolder folder;
  OutputFile out = OutputFile::create(folder / "y", false);
  const fault::Scope scope({.stage = fault::Stage::call, .nth = 1, .error = ENOSPC});
  EXPECT_THROW(out.reserve(100'000), IoError);
}

}  // namespace
}  // namespace lowtide::io
