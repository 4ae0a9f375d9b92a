// The N-th failure sweep: an operation with the first, second, third … operation of each kind made to fail, once or for good, until one run
// meets no failure: the result is right or an error is thrown, and budget, descriptors and files are as before.
//
//   sweep_all({"compute", [](const io::TestFolder& folder) { expect_counting(folder / "x.npy"); }});
//
// x.npy and z.npy are there, counting from 0; what makes a file calls it y.npy. For tests of this layer and those above it.
#pragma once

#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <numeric>

#include "lowtide/base/fault.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/io/test_file.h"
#include "lowtide/memory/budget.h"
#include "lowtide/memory/spare_blocks.h"
#include "lowtide/transfer/warm_maps.h"
#include "lowtide/transfer/whole_files.h"
#include "lowtide/writer.h"

namespace lowtide::sweeping {

inline constexpr std::int64_t rows = 600;
inline constexpr std::int64_t columns = 500;

// What is cached goes when it is asked for, and is no leak.
inline std::uint64_t leaked_bytes() {
  SpareBlocks::process().evict(UINT64_MAX);
  WarmMaps::process().evict(UINT64_MAX);
  WholeFiles::process().evict(UINT64_MAX);
  return usage().held_bytes;
}

inline std::vector<std::int32_t> counting() {
  std::vector<std::int32_t> values(rows * columns);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

struct Operation {
  const char* name;
  std::function<void(const io::TestFolder&)> run;  // EXPECTs that what it read or wrote is right
  std::size_t new_files = 0;                       // that a success leaves behind
};

inline void expect_counting(const std::string& path) {
  EXPECT_EQ(open(path).read().to_vector<std::int32_t>(), counting());
}

inline void sweep(const Operation& operation, fault::Stage stage, int error, bool persistent) {
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

inline void sweep_all(const Operation& operation) {
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

}  // namespace lowtide::sweeping
