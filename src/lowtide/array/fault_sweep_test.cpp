// Every public operation, with the first, second, third … operation of each kind made to fail, once or for good, until one run
// meets no failure: the result is right or an error is thrown, and budget, descriptors and files are as before.
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <numeric>

#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/io/fault.h"
#include "lowtide/io/test_file.h"
#include "lowtide/memory/budget.h"
#include "lowtide/memory/spare_blocks.h"
#include "lowtide/writer.h"

namespace lowtide {
namespace {

constexpr std::int64_t rows = 600;
constexpr std::int64_t columns = 500;

std::uint64_t leaked_bytes() {
  SpareBlocks::process().evict(UINT64_MAX);
  return usage().held_bytes;
}

std::vector<std::int32_t> counting() {
  std::vector<std::int32_t> values(rows * columns);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

struct Operation {
  const char* name;
  std::function<void(const io::TestFolder&)> run;  // EXPECTs that what it read or wrote is right
  std::size_t new_files = 0;                       // that a success leaves behind
};

void expect_counting(const std::string& path) { EXPECT_EQ(open(path).read().to_vector<std::int32_t>(), counting()); }

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {
      {"compute", [](const io::TestFolder& folder) { expect_counting(folder / "x.npy"); }},
      {"gather",
       [](const io::TestFolder& folder) {
         std::vector<std::int64_t> index;
         for (std::int64_t i = 0; i < 64; ++i) index.push_back((i * 389) % rows);
         const Array a = open(folder / "x.npy");
         const auto got = a.read(std::vector<Index>{IndexArray{index.data(), {64}, {8}}}).to_vector<std::int32_t>();
         for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(got[i * columns], index[i] * columns);
       }},
      {"blocks",
       [](const io::TestFolder& folder) {
         std::int64_t next = 0;
         for (const RowBlock& block : open(folder / "x.npy").blocks(100)) {
           EXPECT_EQ(block.buffer.as<std::int32_t>()[0], next * columns);
           next += block.buffer.shape()[0];
         }
         EXPECT_EQ(next, rows);
       }},
      {"transposed blocks",
       [](const io::TestFolder& folder) {
         for (const RowBlock& block : open(folder / "x.npy").transpose().blocks(200))
           EXPECT_EQ(block.buffer.as<std::int32_t>()[0], block.start);
       }},
      {"copy",
       [](const io::TestFolder& folder) {
         save(folder / "y.npy", open(folder / "x.npy"));
         fault::clear();
         expect_counting(folder / "y.npy");
       },
       1},
      {"overwrite",
       [](const io::TestFolder& folder) {
         save(folder / "z.npy", open(folder / "x.npy"), {.overwrite = true});
         fault::clear();
         expect_counting(folder / "z.npy");
       }},
      {"create and append",
       [](const io::TestFolder& folder) {
         Writer w = create(folder / "y.npy", {.shape = {0, columns}, .dtype = DType::int32});
         const auto values = counting();
         ConstView view = ConstView::of(std::span<const std::int32_t>(values));
         view.shape = {rows, columns};
         view.strides_bytes = {4 * columns, 4};
         w.append(view);
         w.close();
         fault::clear();
         expect_counting(folder / "y.npy");
       },
       1},
      {"assign",
       [](const io::TestFolder& folder) {
         Array a = open(folder / "z.npy", {.mode = Mode::read_write});
         const std::vector<std::int32_t> ones(rows, 1);
         a.assign(std::vector<Index>{Slice{}, std::int64_t{3}}, ConstView::of(std::span<const std::int32_t>(ones)));
         a.flush();
       }},
  };
  return all;
}

class FaultSweep : public testing::TestWithParam<const char*> {};

void sweep(const Operation& operation, fault::Stage stage, int error, bool persistent) {
  const io::TestFolder folder;
  const auto values = counting();
  ConstView view = ConstView::of(std::span<const std::int32_t>(values));
  view.shape = {rows, columns};
  view.strides_bytes = {4 * columns, 4};
  save(folder / "x.npy", view);
  save(folder / "z.npy", view);
  for (std::int64_t nth = 1;; ++nth) {
    io::TestFolder::make_cold(folder / "x.npy");
    const std::size_t files = folder.count();
    const std::size_t descriptors = io::open_descriptors();
    bool failed = false;
    fault::set({.stage = stage, .nth = nth, .error = error, .persistent = persistent});
    try {
      operation.run(folder);
    } catch (const Error&) {
      failed = true;
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    const std::int64_t seen = fault::seen(stage);
    fault::clear();
    const std::string where = std::string(operation.name) + ", operation " + std::to_string(nth);
    ASSERT_EQ(leaked_bytes(), 0u) << where;
    ASSERT_LE(io::open_descriptors(), descriptors + 4) << where;  // rings are kept for the next queue
    if (failed) {
      ASSERT_EQ(folder.count(), files) << where;
    } else {
      ASSERT_EQ(folder.count(), files + operation.new_files) << where;
      std::filesystem::remove(folder / "y.npy");
    }
    if (seen < nth) return;
    ASSERT_LT(nth, 2000) << where;
  }
}

TEST_P(FaultSweep, EveryFailureIsAnErrorOrHarmlessAndLeavesNothing) {
  const io::ForcedMode mode(GetParam());
  const BudgetScope budget(std::uint64_t{16_MiB});
  for (const Operation& operation : operations()) {
    for (const bool persistent : {false, true}) {
      sweep(operation, fault::Stage::submit, EIO, persistent);
      sweep(operation, fault::Stage::complete, EIO, persistent);
      sweep(operation, fault::Stage::call, EIO, persistent);
      sweep(operation, fault::Stage::allocate, ENOMEM, persistent);
    }
    sweep(operation, fault::Stage::complete, 0, false);  // short
    sweep(operation, fault::Stage::complete, EINTR, false);
    sweep(operation, fault::Stage::call, EMFILE, true);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, FaultSweep, testing::Values("uring", "threads", "dontcache", "buffered"));

}  // namespace
}  // namespace lowtide
