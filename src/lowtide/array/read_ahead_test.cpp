#include "lowtide/transfer/read_ahead.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "lowtide/array.h"
#include "lowtide/base/fault.h"
#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"
#include "lowtide/io/test_file.h"

namespace lowtide {
namespace {

constexpr std::int64_t row_bytes = 8192;

class ReadsAhead : public testing::TestWithParam<const char*> {
 protected:
  ReadsAhead() : mode_(GetParam()) { set_budget(std::uint64_t{64_MiB}); }

  Array rows() {
    const std::string path = folder_.pattern("x", 8 << 20);
    return open(path, {.dtype = DType::uint8, .shape = Shape{(8 << 20) / row_bytes, row_bytes}});
  }
  static void expect_row(const Array& a, std::int64_t row) {
    const auto got = a.index({row}).read().to_vector<std::uint8_t>();
    for (std::size_t i = 0; i < got.size(); i += 100)
      ASSERT_EQ(got[i], io::pattern_byte(static_cast<std::uint64_t>(row * row_bytes) + i)) << "row " << row;
  }

  io::TestFolder folder_;
  io::ForcedMode mode_;
};
INSTANTIATE_TEST_SUITE_P(Every, ReadsAhead, testing::Values("uring", "threads", "dontcache", "buffered"));

TEST_P(ReadsAhead, ALoopOverRowsAsksTheDiskSeldom) {
  const Array a = rows();
  const fault::Scope counting({.stage = fault::Stage::complete, .nth = INT64_MAX, .error = EIO});
  for (std::int64_t row = 0; row < 256; ++row) expect_row(a, row);
  EXPECT_LT(fault::seen(fault::Stage::complete), 32);  // 2 MiB, 256 KiB at a time, and what was read ahead of the end
}

TEST_P(ReadsAhead, AnErrorInWhatNobodyAskedForIsNotTold) {
  const Array a = rows();
  expect_row(a, 0);
  {
    // The next one continues it and brings in a window, of which the first request to end fails.
    const fault::Scope scope({.stage = fault::Stage::complete, .nth = 1, .error = EIO});
    expect_row(a, 1);
    EXPECT_GE(fault::seen(fault::Stage::complete), 2);
  }
  for (std::int64_t row = 2; row < 100; ++row) expect_row(a, row);
}

TEST_P(ReadsAhead, AnErrorInWhatWasAskedForIs) {
  const Array a = rows();
  expect_row(a, 0);
  const fault::Scope scope({.stage = fault::Stage::complete, .nth = 1, .error = EIO, .persistent = true});
  EXPECT_THROW(a.index({std::int64_t{1}}).read(), IoError);
}

}  // namespace
}  // namespace lowtide
