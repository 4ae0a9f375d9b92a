#include "lowtide/transfer/pieces.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <numeric>

#include "lowtide/array.h"
#include "lowtide/base/fault.h"
#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/io/test_file.h"
#include "lowtide/writer.h"

namespace lowtide {
namespace {

constexpr std::int64_t side = 600;  // of a square of doubles: 2.7 MiB, far more than a batch of single elements

std::vector<double> counting() {
  std::vector<double> values(side * side);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

class ScatteredPieces : public testing::TestWithParam<std::uint64_t> {
 protected:
  ScatteredPieces() {
    set_budget(GetParam());
    const auto values = counting();
    ConstView view = ConstView::of(std::span<const double>(values));
    view.shape = {side, side};
    view.strides_bytes = {side * 8, 8};
    save(folder_ / "f.npy", view, {.order = Order::fortran});
    io::TestFolder::make_cold(folder_ / "f.npy");
    reset_peak();
  }

  // Each element of every other row, one by one and in C order, as a mask gives them.
  static std::vector<std::int64_t> places() {
    std::vector<std::int64_t> at;
    for (std::int64_t i = 0; i < side; i += 2) {
      for (std::int64_t j = 0; j < side; ++j) at.push_back(i), at.push_back(j);
    }
    return at;
  }
  static std::vector<Index> as_index(const std::vector<std::int64_t>& at) {
    const auto count = static_cast<std::int64_t>(at.size() / 2);
    return {IndexArray{at.data(), {count}, {16}}, IndexArray{at.data() + 1, {count}, {16}}};
  }

  io::TestFolder folder_;
};
INSTANTIATE_TEST_SUITE_P(Budgets, ScatteredPieces, testing::Values(4_MiB, 8_MiB, 64_MiB));

TEST_P(ScatteredPieces, AreReadRightWhereverTheirOrder) {
  const auto at = places();
  const auto got = open(folder_ / "f.npy").read(as_index(at)).to_vector<double>();
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<double>(at[2 * i] * side + at[2 * i + 1]));
  EXPECT_LE(usage().peak_bytes, usage().limit_bytes);
}

TEST_P(ScatteredPieces, AreWrittenRightAndTheLastOfTwoWins) {
  auto at = places();
  const std::size_t once = at.size() / 2;
  for (std::size_t i = 0; i < 2 * once; i += 2) at.push_back(at[i]), at.push_back(at[i + 1]);
  std::vector<double> values(at.size() / 2, -2);
  std::fill_n(values.begin(), once, -1);
  Array a = open(folder_ / "f.npy", {.mode = Mode::read_write});
  a.assign(as_index(at), ConstView::of(std::span<const double>(values)));
  const auto got = open(folder_ / "f.npy").read().to_vector<double>();
  for (std::int64_t i = 0; i < side * side; ++i)
    ASSERT_EQ(got[static_cast<std::size_t>(i)], i / side % 2 == 0 ? -2.0 : static_cast<double>(i));
  EXPECT_LE(usage().peak_bytes, usage().limit_bytes);
}

class ScatteredPiecesWithRoom : public ScatteredPieces {};
INSTANTIATE_TEST_SUITE_P(Budgets, ScatteredPiecesWithRoom, testing::Values(64_MiB));

TEST_P(ScatteredPiecesWithRoom, MoveTheFileAFewTimesNotOnceABatch) {
  const auto at = places();
  const std::vector<double> values(at.size() / 2, -1);
  Array a = open(folder_ / "f.npy", {.mode = Mode::read_write});
  const fault::Scope counting_requests({.stage = fault::Stage::submit, .nth = INT64_MAX, .error = EIO});
  a.assign(as_index(at), ConstView::of(std::span<const double>(values)));
  // Slots of at least 32 KiB: 103 requests read the file once, and as many write it. In batches of most_pieces it is moved 44 times.
  EXPECT_LE(fault::seen(fault::Stage::submit), 2 * 206);
}

}  // namespace
}  // namespace lowtide
