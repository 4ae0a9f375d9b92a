#include "lowtide/array.h"

#include <numeric>

#include "lowtide/array/assign.h"
#include "lowtide/array/read.h"
#include "lowtide/array/state.h"
#include "lowtide/array/stream.h"
#include "lowtide/error.h"

namespace lowtide {

Buffer::Buffer(std::shared_ptr<void> owner, std::byte* data, Shape shape, DType dtype)
    : owner_(std::move(owner)), data_(data), shape_(std::move(shape)), dtype_(dtype) {}

std::int64_t Buffer::size() const {
  return std::accumulate(shape_.begin(), shape_.end(), std::int64_t{1}, std::multiplies<>());
}
std::uint64_t Buffer::size_bytes() const { return static_cast<std::uint64_t>(size()) * itemsize(dtype_); }

Blocks::Blocks(std::unique_ptr<RowStream> stream) : stream_(std::move(stream)) {}
Blocks::Blocks(Blocks&&) noexcept = default;
Blocks& Blocks::operator=(Blocks&&) noexcept = default;
Blocks::~Blocks() = default;

std::optional<RowBlock> Blocks::next() {
  RowBlock block;
  if (stream_->next(block)) return block;
  return std::nullopt;
}

Array::Array(std::shared_ptr<const ArrayState> state) : state_(std::move(state)) {}

Shape Array::shape() const { return state_->selection.shape(); }
std::size_t Array::ndim() const { return state_->selection.ndim(); }
std::int64_t Array::size() const { return state_->selection.size(); }
std::uint64_t Array::size_bytes() const { return state_->selection.size_bytes(); }
DType Array::dtype() const { return state_->source.layout.dtype; }
std::string Array::path() const { return state_->source.file->path(); }
std::string_view Array::format() const { return state_->source.layout.format; }
Order Array::order() const { return state_->source.layout.order; }
Endian Array::endian() const { return state_->source.layout.endian; }
std::uint64_t Array::data_offset() const { return state_->source.layout.data_offset; }
std::string_view Array::io_mode() const { return io::name(state_->source.file->mode()); }
bool Array::writable() const { return state_->writable; }

namespace {

Array with_selection(const ArrayState& state, Selection selection) {
  return Array(std::make_shared<const ArrayState>(ArrayState{state.source, std::move(selection), state.writable}));
}

}  // namespace

Array Array::index(std::span<const Index> indices) const {
  return with_selection(*state_, state_->selection.index(indices));
}

Array Array::transpose(std::span<const std::size_t> permutation) const {
  return with_selection(*state_, state_->selection.transpose(permutation));
}

Array Array::transpose() const {
  std::vector<std::size_t> reversed(ndim());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return transpose(reversed);
}

Buffer Array::read() const { return read_selection(state_->source, state_->selection); }

Blocks Array::blocks(std::int64_t rows) const {
  if (ndim() == 0) throw std::invalid_argument("blocks() needs an array of at least one dimension");
  if (rows < 0) throw std::invalid_argument("blocks(rows): rows must be positive, or 0 to let the budget choose");
  return Blocks(std::make_unique<RowStream>(state_->source, state_->selection, rows));
}

std::uint64_t Array::least_budget_bytes() const { return RowStream::least_bytes(state_->source, state_->selection); }

void Array::assign(std::span<const Index> indices, const ConstView& values) {
  if (!writable())
    throw std::invalid_argument(path() + " is open for reading only: open it with mode=\"r+\" to assign");
  assign_selection(state_->source, state_->selection.index(indices, Selection::Windows::keep), values);
}

void Array::flush() {
  if (!writable()) return;
  const io::File::Pin pin = state_->source.file->pin();
  state_->source.file->sync();
}

}  // namespace lowtide
