// Every operation on arrays in files survives any failure.
#include "lowtide/array/fault_sweep.h"

namespace lowtide::sweeping {
namespace {

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

TEST_P(FaultSweep, EveryFailureIsAnErrorOrHarmlessAndLeavesNothing) {
  const io::ForcedMode mode(GetParam());
  const BudgetScope budget(std::uint64_t{16_MiB});
  for (const Operation& operation : operations()) sweep_all(operation);
}

INSTANTIATE_TEST_SUITE_P(Every, FaultSweep, testing::Values("uring", "threads", "dontcache", "buffered"));

}  // namespace
}  // namespace lowtide::sweeping
