// Computing survives any failure.
#include "lowtide/array/fault_sweep.h"
#include "lowtide/compute.h"

namespace lowtide::sweeping {
namespace {

Array two_inputs(const io::TestFolder& folder) {
  return open(folder / "x.npy") * 2 + open(folder / "z.npy").index({Slice{{}, {}, -1}});
}

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = {
      {"an expression of two files",
       [](const io::TestFolder& folder) {
         const auto got = two_inputs(folder).read().to_vector<std::int32_t>();
         for (std::int64_t i = 0; i < rows * columns; i += 997) {
           const std::int64_t mirrored = (rows - 1 - i / columns) * columns + i % columns;
           EXPECT_EQ(got[static_cast<std::size_t>(i)], 2 * i + mirrored);
         }
       }},
      {"a reduction of two files",
       [](const io::TestFolder& folder) {
         const auto got = sum(two_inputs(folder), {0}).read().to_vector<std::int64_t>();
         for (std::int64_t j = 0; j < columns; ++j)
           EXPECT_EQ(got[static_cast<std::size_t>(j)], 3 * (rows * (rows - 1) / 2 * columns + rows * j));
       }},
      {"an expression with a reduction in it",
       [](const io::TestFolder& folder) {
         const Array a = open(folder / "x.npy");
         const auto got = max(abs(a - sum(a, {0}) / rows)).read().to_vector<double>();
         EXPECT_EQ(got[0], (rows - 1) * columns / 2.0);
       }},
      {"an expression saved",
       [](const io::TestFolder& folder) {
         save(folder / "y.npy", (open(folder / "x.npy") * 3 + open(folder / "z.npy")) - open(folder / "x.npy") * 3);
         fault::clear();
         expect_counting(folder / "y.npy");
       },
       1},
  };
  return all;
}

class ComputeSweep : public testing::TestWithParam<const char*> {};

TEST_P(ComputeSweep, EveryFailureIsAnErrorOrHarmlessAndLeavesNothing) {
  const io::ForcedMode mode(GetParam());
  const BudgetScope budget(std::uint64_t{16_MiB});
  for (const Operation& operation : operations()) sweep_all(operation);
}

INSTANTIATE_TEST_SUITE_P(Every, ComputeSweep, testing::Values("uring", "threads", "dontcache", "buffered"));

}  // namespace
}  // namespace lowtide::sweeping
