#include "lowtide/writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>

#include "lowtide/array/assign.h"
#include "lowtide/array/dense.h"
#include "lowtide/array/new_file.h"
#include "lowtide/array/prepare.h"
#include "lowtide/base/fork.h"
#include "lowtide/base/turn.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/source/file_source.h"
#include "lowtide/transfer/sequential_writer.h"

namespace lowtide {
namespace {

constexpr std::uint64_t least_reserve_step = 64_MiB;

}  // namespace

// Writes that continue where the last one ended are streamed; others go in place. The two never hold the same unit: the stream is
// flushed before anything is written in place.
class WriterState {
 public:
  WriterState(const std::string& path, const CreateOptions& options)
      : file_(path, options.format, options.shape, options.dtype, options.order, options.overwrite),
        layout_(file_.layout()),
        data_(file_.shared_file()) {
    file_.reserve_all();
  }

  Shape shape() const {
    const std::lock_guard lock(shape_mutex_);
    return layout_.shape;
  }
  DType dtype() const { return layout_.dtype; }
  const std::string& path() const { return file_.path(); }

  void assign(std::span<const Index> indices, const ConstView& values) {
    const Turn::Held turn = take_turn();
    check_open();
    const FileSource source(data_, layout_, true);
    const Selection selection = source.whole().index(indices, Selection::Windows::keep);
    const ByteMap map = source.lower(selection);
    const bool contiguous = map.size() > 0 && map.contiguous();
    const bool continues = contiguous && static_cast<std::uint64_t>(map.base) == next_byte_;
    // The stream fills its last unit with zeros, so it must not run below what was written in place.
    if (continues && next_byte_ >= in_place_end_) {
      stream(values, selection.shape());
      return;
    }
    end_stream();
    write_in_place(source, selection, values);
    const std::uint64_t end = contiguous ? static_cast<std::uint64_t>(map.base) + map.size_bytes()
                                         : layout_.data_offset + layout_.data_bytes();
    in_place_end_ = std::max(in_place_end_, end);
    if (continues) next_byte_ = end;
  }

  void append(const ConstView& rows) {
    const Turn::Held turn = take_turn();
    check_open();
    Layout& layout = layout_;
    if (layout.order != Order::c)
      throw UnsupportedError("append() needs C order: rows of a Fortran-ordered file are not contiguous");
    if (layout.shape.empty()) throw std::invalid_argument("append() needs an array of at least one dimension");
    Shape shape = rows.shape;
    if (shape.size() + 1 == layout.shape.size()) shape.insert(shape.begin(), 1);  // one row
    const bool fits =
        shape.size() == layout.shape.size() && std::equal(shape.begin() + 1, shape.end(), layout.shape.begin() + 1);
    if (!fits) {
      throw std::invalid_argument(
          fmt::format("append() of shape ({}) to an array of shape ({}): all axes but the first must agree",
                      fmt::join(rows.shape, ", "), fmt::join(layout.shape, ", ")));
    }
    Shape grown = layout.shape;
    grown[0] += shape[0];
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return set_shape(std::move(grown));
    const std::uint64_t end = layout.data_offset + layout.data_bytes();
    const std::uint64_t grown_end = layout.data_offset + checked_bytes(grown, layout.dtype, path());
    reserve(grown_end);
    if (end != next_byte_ || !stream_) {
      end_stream();
      next_byte_ = end;
    }
    stream(rows, shape);
    set_shape(std::move(grown));
  }

  void close() {
    const Turn::Held turn = take_turn();
    if (closed_) return;
    check_open();
    end_stream();
    file_.commit(layout_);
    data_.reset();
    closed_ = true;
  }

  void discard() {
    if (!made_.here()) return;  // what there is to discard is the parent's
    const Turn::Held turn = take_turn();
    stream_.reset();
    data_.reset();
    file_.discard();
    closed_ = true;
  }
  bool closed() const { return closed_; }

 private:
  Turn::Held take_turn() {
    if (!made_.here())
      throw Error("the writer of " + path() +
                  " belongs to the process that created it: create another in a forked child");
    return turn_.take("writing to " + path());
  }

  void check_open() const {
    if (closed_) throw std::invalid_argument(path() + " is closed");
    if (torn_)
      throw IoError("an earlier write to " + path() + " failed half-way: what was written is lost, begin again", EIO,
                    path());
  }

  void reserve(std::uint64_t bytes) {
    if (bytes <= reserved_bytes_) return;
    // Ahead of what is asked, so that a long stream of appends asks seldom; an eighth at most, so that little is asked in vain.
    const std::uint64_t ahead = std::max(bytes, std::min(bytes + bytes / 8, bytes + least_reserve_step * 16));
    try {
      file_.reserve(ahead);
      reserved_bytes_ = ahead;
    } catch (const IoError&) {  // a nearly full disk may still have what is needed
      file_.reserve(bytes);
      reserved_bytes_ = bytes;
    }
  }

  // What is refused first has changed nothing; anything else stopped somewhere in the middle.
  void write_in_place(const FileSource& source, const Selection& selection, const ConstView& values) {
    try {
      assign_selection(source, selection, values);
    } catch (const std::invalid_argument&) {
      throw;
    } catch (const BudgetError&) {
      throw;
    } catch (...) {
      torn_ = true;
      throw;
    }
  }

  void set_shape(Shape shape) {
    const std::lock_guard lock(shape_mutex_);
    layout_.shape = std::move(shape);
  }

  void stream(const ConstView& values, const Shape& shape) {
    const DType dtype = layout_.dtype;
    const std::uint64_t for_tiles = DenseTiles::least_bytes(values.dtype, dtype);
    const std::uint64_t for_writer = stream_ ? 0 : SequentialWriter::least_bytes(*data_);
    Lease lease = Budget::process().take(for_tiles + for_writer, Purpose::write_behind, "writing to " + path());
    DenseTiles tiles(values, shape, dtype, layout_.endian, lease.split(for_tiles, Purpose::staging));
    if (!stream_) stream_.emplace(*data_, next_byte_, std::move(lease));
    torn_ = true;
    for (DenseTile tile; tiles.next(tile);) stream_->append(tile.data, tile.bytes);
    torn_ = false;
    next_byte_ = stream_->position();
  }

  void end_stream() {
    if (!stream_) return;
    torn_ = true;
    stream_->flush();
    torn_ = false;
    stream_.reset();
  }

  MadeHere made_;
  Turn turn_;  // all below but the shape is touched by the thread that has it
  mutable std::mutex shape_mutex_;
  NewFile file_;
  Layout layout_;
  std::shared_ptr<io::File> data_;
  std::uint64_t next_byte_ = layout_.data_offset;
  std::uint64_t in_place_end_ = 0;  // nothing was written in place from here on
  std::uint64_t reserved_bytes_ = 0;
  std::optional<SequentialWriter> stream_;
  std::atomic<bool> closed_{false};
  bool torn_ = false;  // a stream stopped (an error, Ctrl-C) where the caller cannot know how far it came
};

Writer::Writer(std::unique_ptr<WriterState> state) : state_(std::move(state)) {}
Writer::Writer(Writer&&) noexcept = default;
Writer& Writer::operator=(Writer&&) noexcept = default;
Writer::~Writer() = default;

Shape Writer::shape() const { return state_->shape(); }
DType Writer::dtype() const { return state_->dtype(); }
std::string Writer::path() const { return state_->path(); }
void Writer::assign(std::span<const Index> indices, const ConstView& values) { state_->assign(indices, values); }
void Writer::append(const ConstView& rows) { state_->append(rows); }
void Writer::close() { state_->close(); }
void Writer::discard() { state_->discard(); }
bool Writer::closed() const { return state_->closed(); }

Writer create(const std::string& path, const CreateOptions& options) {
  prepare_process();
  return Writer(std::make_unique<WriterState>(path, options));
}

}  // namespace lowtide
