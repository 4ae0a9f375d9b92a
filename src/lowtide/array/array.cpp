#include "lowtide/array.h"

#include <numeric>

#include "lowtide/array/assign.h"
#include "lowtide/array/read.h"
#include "lowtide/array/state.h"
#include "lowtide/array/stream.h"
#include "lowtide/error.h"
#include "lowtide/source/file_source.h"

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

namespace {

// A view and what stands around it in Python (0.6 KiB seen). Some are within what any process may take; 200,000 are 124 MiB.
constexpr std::uint64_t view_bytes = 640;
constexpr std::int64_t free_views = 1024;
std::atomic<std::int64_t> held_views{0};

}  // namespace

ArrayState::ArrayState(std::shared_ptr<const Source> source_, Selection selection_, bool writable_)
    : source(std::move(source_)), selection(std::move(selection_)), writable(writable_) {
  if (held_views.load(std::memory_order_relaxed) >= free_views) {
    lease_ = Budget::process().take(view_bytes, Purpose::index, "one more view of " + source->name());
  }
  held_views.fetch_add(1, std::memory_order_relaxed);
}
ArrayState::~ArrayState() { held_views.fetch_sub(1, std::memory_order_relaxed); }

Array::Array(std::shared_ptr<const ArrayState> state) : state_(std::move(state)) {}

namespace {

const FileSource& file_of(const ArrayState& state) {
  if (const FileSource* file = state.source->in_one_file()) return *file;
  throw UnsupportedError(state.source->name() + " is in no single file");
}
const Layout& layout_of(const ArrayState& state) { return file_of(state).layout(); }

}  // namespace

const std::shared_ptr<const Source>& Array::source() const { return state_->source; }
const Selection& Array::selection() const { return state_->selection; }

Shape Array::shape() const { return state_->selection.shape(); }
std::size_t Array::ndim() const { return state_->selection.ndim(); }
std::int64_t Array::size() const { return state_->selection.size(); }
std::uint64_t Array::size_bytes() const { return static_cast<std::uint64_t>(size()) * itemsize(dtype()); }
DType Array::dtype() const { return state_->source->dtype(); }
std::string Array::path() const { return state_->source->name(); }
std::string_view Array::format() const { return layout_of(*state_).format; }
Order Array::order() const { return layout_of(*state_).order; }
Endian Array::endian() const { return layout_of(*state_).endian; }
std::uint64_t Array::data_offset() const { return layout_of(*state_).data_offset; }
std::string_view Array::io_mode() const { return io::name(file_of(*state_).file().mode()); }
bool Array::writable() const { return state_->writable; }

Array Array::with(Selection selection) const {
  return Array(std::make_shared<const ArrayState>(state_->source, std::move(selection), state_->writable));
}

Array Array::index(std::span<const Index> indices) const { return with(state_->selection.index(indices)); }

Array Array::transpose(std::span<const std::size_t> permutation) const {
  return with(state_->selection.transpose(permutation));
}

Array Array::transpose() const {
  std::vector<std::size_t> reversed(ndim());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return transpose(reversed);
}

Buffer Array::read() const { return read_selection(*state_->source, state_->selection); }
Buffer Array::read(std::span<const Index> indices) const {
  return read_selection(*state_->source, state_->selection.index(indices));
}

Blocks Array::blocks(std::int64_t rows) const {
  if (ndim() == 0) throw std::invalid_argument("blocks() needs an array of at least one dimension");
  if (rows < 0) throw std::invalid_argument("blocks(rows): rows must be positive, or 0 to let the budget choose");
  return Blocks(std::make_unique<RowStream>(state_->source, state_->selection, rows));
}

std::uint64_t Array::least_budget_bytes() const { return RowStream::least_bytes(*state_->source, state_->selection); }

void Array::assign(std::span<const Index> indices, const ConstView& values) {
  if (!writable())
    throw std::invalid_argument(path() + " is open for reading only: open it with mode=\"r+\" to assign");
  assign_selection(*state_->source, state_->selection.index(indices, Selection::Windows::keep), values);
}

void Array::flush() {
  if (!writable()) return;
  io::File& file = file_of(*state_).file();
  const io::File::Pin pin = file.pin();
  file.sync();
}

}  // namespace lowtide
