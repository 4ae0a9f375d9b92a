#include "lowtide/writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <numeric>

#include "lowtide/base/fault.h"
#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"
#include "lowtide/io/test_file.h"

namespace lowtide {
namespace {

constexpr std::int64_t rows = 300;
constexpr std::int64_t columns = 111;

// Every other column, in place; then the first rows, streamed.
void write_two_ways(const std::string& path) {
  const std::vector<std::int32_t> ones(columns, 1);
  Writer w = create(path, {.shape = {rows, columns}, .dtype = DType::int32});
  w.assign(std::vector<Index>{Slice{{}, {}, 2}}, ConstView::of(std::span<const std::int32_t>(ones)));
  w.assign(std::vector<Index>{Slice{0, 3}}, ConstView::of(std::span<const std::int32_t>(ones)));
  w.close();
}

void append(const std::string& path) {
  const std::vector<std::int32_t> ones(columns, 1);
  Writer w = create(path, {.shape = {0, columns}, .dtype = DType::int32});
  for (int i = 0; i < rows; ++i) w.append(ConstView::of(std::span<const std::int32_t>(ones)));
  w.close();
}

class WithoutFallocate : public testing::TestWithParam<const char*> {
 protected:
  WithoutFallocate() : mode_(GetParam()) { set_budget(std::uint64_t{64_MiB}); }

  // Makes the first, second, third … call on the file say `error`: a run ends with an error or with the right file, and those that
  // reserve space end with the file.
  template <class Write, class Check>
  void sweep(int error, Write write, Check check) {
    const std::string path = folder_ / "y.npy";
    int written = 0;
    for (std::int64_t nth = 1;; ++nth) {
      bool failed = false;
      fault::set({.stage = fault::Stage::call, .nth = nth, .error = error});
      try {
        write(path);
      } catch (const Error&) {
        failed = true;
      }
      const bool met = fault::seen(fault::Stage::call) >= nth;
      fault::clear();
      if (!failed) {
        const auto values = open(path).read().to_vector<std::int32_t>();
        ASSERT_EQ(values.size(), static_cast<std::size_t>(rows * columns));
        ASSERT_EQ(std::filesystem::file_size(path), open(path).data_offset() + rows * columns * 4);
        for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], check(i / columns)) << "call " << nth;
        std::filesystem::remove(path);
        written += met;
      }
      if (!met) break;
    }
    EXPECT_GE(written, 1);
  }

  io::TestFolder folder_;
  io::ForcedMode mode_;
};
INSTANTIATE_TEST_SUITE_P(Every, WithoutFallocate, testing::Values("uring", "threads", "dontcache", "buffered"));

TEST_P(WithoutFallocate, WritesInPlaceEndInAFileOfTheRightLengthAndContent) {
  for (const int error : {EOPNOTSUPP, ENOSYS})
    sweep(error, write_two_ways, [](std::size_t row) { return row < 3 || row % 2 == 0 ? 1 : 0; });
}

TEST_P(WithoutFallocate, AppendedRowsEndInAFileOfTheRightLengthAndContent) {
  for (const int error : {EOPNOTSUPP, ENOSYS}) sweep(error, append, [](std::size_t) { return 1; });
}

TEST(Writers, ManyAreOpenAtOnceInASmallBudget) {
  set_budget(std::uint64_t{8_MiB});
  const io::TestFolder folder;
  std::vector<Writer> writers;
  const std::vector<std::int32_t> ones(columns, 1);
  const auto append_to = [&](Writer& w) { w.append(ConstView::of(std::span<const std::int32_t>(ones))); };
  for (int i = 0; i < 16; ++i) {
    writers.push_back(create(folder / fmt::format("{}.npy", i), {.shape = {0, columns}, .dtype = DType::int32}));
    append_to(writers.back());
  }
  for (int i = 1; i < rows; ++i) {
    for (Writer& w : writers) append_to(w);
  }
  for (Writer& w : writers) w.close();
  for (int i = 0; i < 16; ++i) {
    const Array written = open(folder / fmt::format("{}.npy", i));
    ASSERT_EQ(written.shape(), (Shape{rows, columns}));
    EXPECT_EQ(written.read().to_vector<std::int32_t>(), std::vector<std::int32_t>(rows * columns, 1));
  }
}

}  // namespace
}  // namespace lowtide
