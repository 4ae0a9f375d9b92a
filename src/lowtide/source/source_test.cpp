// One interface for what an array is made of. A chunked file and an expression are written down here as sources of the test's own: what a
// format like Zarr and the engine will need must fit Source as it is.
#include "lowtide/source/source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>

#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"
#include "lowtide/io/test_file.h"
#include "lowtide/source/file_source.h"
#include "lowtide/source/memory_source.h"

namespace lowtide {
namespace {

using Values = std::vector<std::int64_t>;
constexpr std::size_t item = sizeof(std::int64_t);

// Calls visit(k, input) for each element in C order, by the formula in selection.h and nothing cleverer.
template <class Visit>
void for_each_element(const Selection& selection, Visit visit) {
  std::vector<std::int64_t> at(selection.ndim(), 0);
  for (std::int64_t k = 0; k < selection.size(); ++k) {
    Values input;
    for (const Input& axis : selection.inputs()) input.push_back(axis.start);
    for (std::size_t j = 0; j < at.size(); ++j) {
      if (selection.axes()[j].step != 0) input[selection.axes()[j].input] += at[j] * selection.axes()[j].step;
    }
    for (const Table& table : selection.tables()) {
      std::int64_t entry = 0;
      for (std::size_t j = 0; j < table.axes.size(); ++j) entry += at[table.axes[j]] * table.strides[j];
      input[table.input] += table.entries[entry];
    }
    visit(at, input);
    for (std::size_t j = at.size(); j > 0 && ++at[j - 1] == selection.axes()[j - 1].extent; --j) at[j - 1] = 0;
  }
}

std::byte* place_of(const Box& box, const std::vector<std::int64_t>& at) {
  return box.memory + std::inner_product(at.begin(), at.end(), box.strides_bytes.begin(), std::int64_t{0});
}

// Zarr's case: chunks of a grid, each stored encoded and decoded as a whole, into working memory that needs() asked for.
class ChunkedSource final : public Source {
 public:
  ChunkedSource(const Values& values, Shape shape, Shape chunk) : shape_(std::move(shape)), chunk_(std::move(chunk)) {
    for (std::int64_t i = 0; i < shape_[0] * shape_[1]; ++i) {
      const Values input{i / shape_[1], i % shape_[1]};
      Values& stored = chunks_[key_of(input)];
      stored.resize(static_cast<std::size_t>(chunk_[0] * chunk_[1]));
      stored[within(input)] = ~values[static_cast<std::size_t>(i)];  // the codec
    }
  }
  const Shape& shape() const override { return shape_; }
  DType dtype() const override { return DType::int64; }
  std::string name() const override { return "chunks"; }
  std::uint64_t stamp() const override { return 1; }

  // A box is lowered to its chunks and to what is wanted of each.
  struct ChunkLowering final : Lowering {
    struct Wanted {
      std::vector<std::int64_t> at;
      std::size_t within;
    };
    std::map<std::int64_t, std::vector<Wanted>> chunks;
  };
  Needs needs(std::span<Box> boxes) const override {
    for (Box& box : boxes) {
      auto lowering = std::make_shared<ChunkLowering>();
      for_each_element(box.elements, [&](const auto& at, const Values& input) {
        lowering->chunks[key_of(input)].push_back({at, within(input)});
      });
      box.lowering = lowering;
    }
    return needs_of_any(0);
  }
  Needs needs_of_any(std::int64_t) const override {
    const auto chunk_bytes = round_up(static_cast<std::uint64_t>(chunk_[0] * chunk_[1]) * item, page_bytes);
    return {.least_bytes = chunk_bytes, .most_bytes = 4 * chunk_bytes};
  }
  void read(std::span<const Box> boxes, Workspace& workspace) const override {
    auto* decoded = reinterpret_cast<std::int64_t*>(workspace.staging().data());
    for (const Box& box : boxes) {
      for (const auto& [key, wanted] : static_cast<const ChunkLowering&>(*box.lowering).chunks) {
        const Values& stored = chunks_.at(key);
        ++decoded_count;
        std::transform(stored.begin(), stored.end(), decoded, [](std::int64_t value) { return ~value; });
        for (const auto& [at, within] : wanted) std::memcpy(place_of(box, at), decoded + within, item);
      }
    }
  }
  using Source::needs;
  using Source::read;

  mutable int decoded_count = 0;

 private:
  std::int64_t key_of(const Values& input) const { return input[0] / chunk_[0] * 1000 + input[1] / chunk_[1]; }
  std::size_t within(const Values& input) const {
    return static_cast<std::size_t>(input[0] % chunk_[0] * chunk_[1] + input[1] % chunk_[1]);
  }
  Shape shape_, chunk_;
  std::map<std::int64_t, Values> chunks_;
};

// The engine's case: the sum of two sources of one shape. A box is pushed to the operands, each with its share of the working memory.
class SumSource final : public Source {
 public:
  SumSource(const Source& left, const Source& right) : left_(left), right_(right) {}
  const Shape& shape() const override { return left_.shape(); }
  DType dtype() const override { return left_.dtype(); }
  std::string name() const override { return left_.name() + " + " + right_.name(); }
  std::uint64_t stamp() const override { return left_.stamp() * 31 + right_.stamp(); }

  struct SumLowering final : Lowering {
    Box left, right;
    Needs left_needs, right_needs;
  };
  Needs needs(std::span<Box> boxes) const override {
    Needs all;
    for (Box& box : boxes) {
      auto lowering = std::make_shared<SumLowering>();
      lowering->left = {.elements = box.elements, .strides_bytes = box.strides_bytes};
      lowering->right = Box::dense(box.elements, item);
      lowering->left_needs = left_.needs(lowering->left);
      lowering->right_needs = right_.needs(lowering->right);
      all.least_bytes =
          std::max(all.least_bytes, scratch_bytes(box.elements.size()) + lowering->left_needs.least_bytes +
                                        lowering->right_needs.least_bytes);
      box.lowering = lowering;
    }
    all.most_bytes = all.least_bytes;
    return all;
  }
  Needs needs_of_any(std::int64_t size) const override {
    const std::uint64_t bytes =
        scratch_bytes(size) + left_.needs_of_any(size).least_bytes + right_.needs_of_any(size).least_bytes;
    return {bytes, bytes};
  }
  void read(std::span<const Box> boxes, Workspace& workspace) const override {
    for (const Box& box : boxes) {
      if (box.elements.size() == 0) continue;
      const auto& lowering = static_cast<const SumLowering&>(*box.lowering);
      Workspace& for_left = workspace.operand(0, lowering.left_needs);
      Workspace& for_right = workspace.operand(1, lowering.right_needs);
      Box left = lowering.left, right = lowering.right;
      left.memory = box.memory;
      right.memory = workspace.staging().data();
      left_.read(left, for_left);
      right_.read(right, for_right);
      std::int64_t k = 0;
      for_each_element(box.elements, [&](const auto& at, const Values&) {
        auto* sum = reinterpret_cast<std::int64_t*>(place_of(box, at));
        *sum += reinterpret_cast<const std::int64_t*>(right.memory)[k++];
      });
    }
  }
  using Source::needs;
  using Source::read;

 private:
  static std::uint64_t scratch_bytes(std::int64_t size) {
    return round_up(static_cast<std::uint64_t>(size) * item, page_bytes);
  }
  const Source& left_;
  const Source& right_;
};

// Admitted first, then read: what every user of a source does.
Values read_all(const Source& source, const Selection& selection, bool transposed = false) {
  Box box = Box::dense(selection, item);
  Values values(static_cast<std::size_t>(selection.size()), -1);
  if (transposed) std::reverse(box.strides_bytes.begin(), box.strides_bytes.end());
  box.memory = reinterpret_cast<std::byte*>(values.data());
  const Needs needs = source.needs(box);
  Workspace workspace(needs, Budget::process().take(needs.least_bytes, Purpose::staging, "a test"));
  source.read(box, workspace);
  return values;
}

class Sources : public testing::Test {
 protected:
  static constexpr std::int64_t rows = 37, columns = 23;
  Sources() {
    set_budget(64_MiB);
    values_.resize(rows * columns);
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<std::int64_t>(i * i % 10'007);
    std::ofstream(folder_ / "v.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values_.data()), static_cast<std::streamsize>(values_.size() * item));
    Layout layout;
    layout.format = "raw";
    layout.dtype = DType::int64;
    layout.shape = {rows, columns};
    file_ = std::make_unique<FileSource>(io::File::open(folder_ / "v.bin", io::Access::read), layout);
    layout.endian = Endian::big;
    swapped_ = std::make_unique<FileSource>(io::File::open(folder_ / "v.bin", io::Access::read), layout);
  }

  Values expected(const Selection& selection) const {
    Values found;
    for_each_element(selection, [&](const auto&, const Values& input) {
      found.push_back(values_[static_cast<std::size_t>(input[0] * columns + input[1])]);
    });
    return found;
  }

  // Whatever NumPy can write between brackets.
  static std::vector<Selection> selections() {
    static const Values some{36, -37, 5, 5, 17}, others{0, 22, -1, 7, 7},
        windows{3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2, 3, 4, 5, 6, 7};
    static const auto mask = [] {
      std::array<bool, rows * columns> m{};
      for (std::size_t i = 0; i < m.size(); i += 11) m[i] = true;
      return m;
    }();
    const Selection whole = Selection::whole({rows, columns});
    const IndexArray rows_at{some.data(), {5}, {8}}, columns_at{others.data(), {5}, {8}};
    const std::size_t swap[] = {1, 0};
    return {whole,
            whole.rows(3, 9),
            whole.index({Slice{{}, {}, -3}, Slice{2, 20, 5}}),
            whole.transpose(swap),
            whole.index({std::int64_t{4}}),
            whole.index({rows_at}),
            whole.index({Slice{}, columns_at}),
            whole.index({rows_at, columns_at}),
            whole.index({rows_at}).index({Slice{}, columns_at}).transpose(swap),
            whole.index({IndexArray{windows.data(), {2, 8}, {64, 8}}}),
            whole.index({Mask{mask.data(), {rows, columns}, {columns, 1}}}),
            whole.index({NewAxis{}, std::int64_t{2}, Ellipsis{}}),
            whole.rows(5, 5)};
  }

  MemorySource memory() const {
    return {reinterpret_cast<const std::byte*>(values_.data()), {rows, columns}, {columns * 8, 8}, DType::int64};
  }

  io::TestFolder folder_;
  Values values_;
  std::unique_ptr<FileSource> file_, swapped_;
};

TEST_F(Sources, GiveTheSameElementsWhateverTheyAreMadeOf) {
  const MemorySource in_memory = memory();
  const ChunkedSource chunks(values_, {rows, columns}, {8, 6});
  for (const Selection& selection : selections()) {
    const Values wanted = expected(selection);
    EXPECT_EQ(read_all(*file_, selection), wanted);
    EXPECT_EQ(read_all(in_memory, selection), wanted);
    EXPECT_EQ(read_all(chunks, selection), wanted);
  }
}

TEST_F(Sources, AddUpToAnExpressionOverAnyTwo) {
  const ChunkedSource chunks(values_, {rows, columns}, {8, 6});
  const SumSource twice(*file_, chunks), four_times(twice, twice);
  for (const Selection& selection : selections()) {
    Values wanted = expected(selection);
    for (std::int64_t& value : wanted) value *= 4;
    EXPECT_EQ(read_all(four_times, selection), wanted);
  }
  EXPECT_THROW(four_times.begin_writing(), UnsupportedError);
}

TEST_F(Sources, AreReadIntoMemoryOfAnyStrides) {
  const Selection square = file_->whole().index({Slice{0, 20, {}}, Slice{0, 20, {}}});
  const std::size_t swap[] = {1, 0};
  const Values wanted = expected(square.transpose(swap));
  EXPECT_EQ(read_all(*file_, square, true), wanted);
  EXPECT_EQ(read_all(memory(), square, true), wanted);
  Values swapped = wanted;
  for (std::int64_t& value : swapped)
    value = static_cast<std::int64_t>(__builtin_bswap64(static_cast<std::uint64_t>(value)));
  EXPECT_EQ(read_all(*swapped_, square, true), swapped);
}

TEST_F(Sources, OfChunksDecodeEachChunkOnceABox) {
  const ChunkedSource chunks(values_, {rows, columns}, {8, 6});
  read_all(chunks, chunks.whole().index({Slice{0, 8, {}}}));
  EXPECT_EQ(chunks.decoded_count, 4);
}

TEST_F(Sources, InMemoryMayRunBackwards) {
  const auto* last = reinterpret_cast<const std::byte*>(values_.data() + rows * columns - 1);
  const MemorySource backwards(last, {rows, columns}, {-columns * 8, -8}, DType::int64);
  Values wanted = values_;
  std::reverse(wanted.begin(), wanted.end());
  EXPECT_EQ(read_all(backwards, backwards.whole()), wanted);
}

TEST_F(Sources, SayWhatARangeNeedsAroundItToBeReadInPlace) {
  Box box = Box::dense(file_->whole().rows(1, 2), item);
  box.has_room_around = true;
  const Needs needs = file_->needs(box);
  EXPECT_EQ(needs.before_bytes, static_cast<std::uint64_t>(columns) * item);
  EXPECT_EQ((needs.before_bytes + columns * item + needs.after_bytes) % io::direct_align, 0u);
}

}  // namespace
}  // namespace lowtide
