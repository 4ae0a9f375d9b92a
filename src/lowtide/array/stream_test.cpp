#include "lowtide/array/stream.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "lowtide/array/prepare.h"
#include "lowtide/base/fault.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"
#include "lowtide/io/test_file.h"

namespace lowtide {
namespace {

constexpr std::int64_t row_bytes = 4096;
constexpr std::int64_t row_count = 1024;
constexpr std::int64_t rows_per_block = 100;

int slices = 0;  // of one call, some 40 ms each

// Which part of the file is in the page cache while it is read.
enum class Cached : std::uint8_t { none, half, all };

class StreamErrors : public testing::TestWithParam<std::tuple<std::string, Cached>> {
 protected:
  StreamErrors() : mode_(std::get<0>(GetParam())) {
    prepare_process();
    set_budget(std::uint64_t{16_MiB});
    // A stream that has lost a request waits for ever, in slices.
    set_interrupt_hook([] {
      if (++slices > 150) throw CancelledError("the stream hangs");
    });
  }
  ~StreamErrors() override { set_interrupt_hook(nullptr); }

  std::shared_ptr<const Source> source() {
    if (!file_) {
      const std::string path = folder_.pattern("x", row_count * row_bytes);
      const Cached cached = std::get<1>(GetParam());
      const std::size_t bytes = cached == Cached::none ? 0 : row_count * row_bytes / (cached == Cached::half ? 2 : 1);
      std::vector<char> warm(bytes);
      std::ifstream(path, std::ios::binary).read(warm.data(), static_cast<std::streamsize>(bytes));
      file_ = io::File::open(path, io::Access::read);
    }
    Layout layout;
    layout.format = "raw";
    layout.dtype = DType::uint8;
    layout.shape = {row_count, row_bytes};
    return std::make_shared<FileSource>(file_, layout);
  }

  // Reads to the end, clearing the fault at the first error: every row comes once, right and in order.
  void expect_all_rows(RowStream& stream, int& errors) {
    std::int64_t next = 0;
    for (RowBlock block; next < row_count;) {
      slices = 0;
      try {
        ASSERT_TRUE(stream.next(block)) << "ended at row " << next;
      } catch (const CancelledError&) {
        throw;
      } catch (const std::exception&) {
        ++errors;
        fault::clear();
        continue;
      }
      ASSERT_EQ(block.start, next);
      const auto got = block.buffer.as<std::uint8_t>();
      const auto first = static_cast<std::uint64_t>(next * row_bytes);
      for (std::size_t i = 0; i < got.size(); i += 512)
        ASSERT_EQ(got[i], io::pattern_byte(first + i)) << "row " << next;
      next += block.buffer.shape()[0];
    }
    RowBlock block;
    EXPECT_FALSE(stream.next(block));
  }

  void sweep(fault::Stage stage, int error) {
    for (std::int64_t nth = 1; nth < 1000; ++nth) {
      int errors = 0;
      RowStream stream(source(), source()->whole(), rows_per_block);
      fault::set({.stage = stage, .nth = nth, .error = error, .persistent = true});
      ASSERT_NO_FATAL_FAILURE(expect_all_rows(stream, errors)) << "operation " << nth;
      const bool met = fault::seen(stage) >= nth;
      fault::clear();
      if (!met) return;
      EXPECT_LE(errors, 6) << "operation " << nth;  // one for each block that was being read when the fault was cleared
    }
    FAIL() << "no end";
  }

  io::TestFolder folder_;
  io::ForcedMode mode_;
  std::shared_ptr<io::File> file_;
};
std::string name_of(const testing::TestParamInfo<std::tuple<std::string, Cached>>& info) {
  static constexpr std::array cached = {"Cold", "HalfCached", "Cached"};
  return std::get<0>(info.param) + cached[static_cast<std::size_t>(std::get<1>(info.param))];
}
const std::vector<std::string> modes = {"uring", "threads", "dontcache", "buffered"};
INSTANTIATE_TEST_SUITE_P(Every, StreamErrors,
                         testing::Combine(testing::ValuesIn(modes),
                                          testing::Values(Cached::none, Cached::half, Cached::all)),
                         name_of);

class ColdStreamErrors : public StreamErrors {};  // only what is read from the disk is read ahead
INSTANTIATE_TEST_SUITE_P(Every, ColdStreamErrors,
                         testing::Combine(testing::ValuesIn(modes), testing::Values(Cached::none)), name_of);

TEST_P(StreamErrors, ARequestThatFailsIsTriedAgainByTheNextCall) { sweep(fault::Stage::complete, EIO); }
TEST_P(StreamErrors, ARequestThatCannotBeMadeIsTriedAgainByTheNextCall) { sweep(fault::Stage::submit, EIO); }
TEST_P(StreamErrors, MemoryThatIsRefusedIsAskedForAgainByTheNextCall) { sweep(fault::Stage::allocate, ENOMEM); }

TEST_P(StreamErrors, AnErrorThatStaysIsToldAgain) {
  RowStream stream(source(), source()->whole(), rows_per_block);
  const fault::Scope scope({.stage = fault::Stage::complete, .nth = 1, .error = EIO, .persistent = true});
  for (int i = 0; i < 3; ++i) {
    RowBlock block;
    EXPECT_THROW(stream.next(block), IoError);
  }
}

TEST_P(ColdStreamErrors, OneThatIsReadAheadComesAfterTheRowsBeforeIt) {
  RowStream stream(source(), source()->whole(), 4);  // one request a block
  const fault::Scope scope({.stage = fault::Stage::submit, .nth = 2, .error = EIO, .persistent = true});
  RowBlock block;
  EXPECT_TRUE(stream.next(block));
  EXPECT_THROW(stream.next(block), IoError);
}

// What streams keep for speed goes to those that are opened after them; each goes on where it was.
TEST_P(ColdStreamErrors, ManyAreOpenAtOnceInASmallBudget) {
  set_budget(std::uint64_t{8_MiB});
  std::vector<std::unique_ptr<RowStream>> streams;
  std::vector<RowBlock> held(14);
  for (RowBlock& block : held) {
    streams.push_back(std::make_unique<RowStream>(source(), source()->whole(), 0));
    ASSERT_TRUE(streams.back()->next(block)) << "stream " << streams.size();
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    std::int64_t next = 0;
    do {
      ASSERT_EQ(held[i].start, next);
      const auto got = held[i].buffer.as<std::uint8_t>();
      for (std::size_t at = 0; at < got.size(); at += 512)
        ASSERT_EQ(got[at], io::pattern_byte(static_cast<std::uint64_t>(next * row_bytes) + at)) << "row " << next;
      next += held[i].buffer.shape()[0];
      RowBlock following;  // as a loop does: the last block is kept while the next one is asked for
      if (!streams[i]->next(following)) break;
      held[i] = std::move(following);
    } while (true);
    ASSERT_EQ(next, row_count);
  }
}

TEST_P(ColdStreamErrors, BlocksThatDoNotFitTwiceAreRefusedBeforeTheFirstRatherThanAfterIt) {
  set_budget(std::uint64_t{6_MiB});
  EXPECT_THROW(RowStream(source(), source()->whole(), 1000), BudgetError);
  RowStream stream(source(), source()->whole(), 700);
  RowBlock first, second;
  ASSERT_TRUE(stream.next(first));
  ASSERT_TRUE(stream.next(second));
}

}  // namespace
}  // namespace lowtide
