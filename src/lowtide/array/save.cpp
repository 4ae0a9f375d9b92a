// lowtide::save: an array streamed into a new file. File order is always followed on the writing side, so a Fortran-ordered file is the
// C-ordered file of the transposed array.
#include <algorithm>

#include "lowtide/array/dense.h"
#include "lowtide/array/new_file.h"
#include "lowtide/array/prepare.h"
#include "lowtide/array/stream.h"
#include "lowtide/kernels/cast.h"
#include "lowtide/transfer/sequential_writer.h"
#include "lowtide/writer.h"

namespace lowtide {
namespace {

class Sink {
 public:
  // `reserved`: SequentialWriter::least_bytes_of_any().
  Sink(const std::string& path, const Shape& shape, DType dtype, const SaveOptions& options, Lease reserved)
      : lease_(std::move(reserved)),
        file_(path, options.format, shape, dtype, options.order.value_or(Order::c), options.overwrite),
        total_bytes_(file_.layout().data_bytes()),
        progress_(options.progress),
        writer_(*file_.shared_file(), file_.layout().data_offset, std::move(lease_)) {
    file_.reserve_all();
  }

  void append(const std::byte* data, std::uint64_t bytes) {
    writer_.append(data, bytes);
    done_bytes_ += bytes;
    if (!progress_) return;
    const Budget::Callback others_code(Budget::process());
    progress_(done_bytes_, total_bytes_);
  }

  void commit() {
    writer_.flush();
    file_.commit(file_.layout());
  }

 private:
  Lease lease_;  // taken before the file is made
  NewFile file_;
  std::uint64_t total_bytes_;
  std::uint64_t done_bytes_ = 0;
  std::function<void(std::uint64_t, std::uint64_t)> progress_;
  SequentialWriter writer_;
};

Shape reversed(Shape shape) {
  std::reverse(shape.begin(), shape.end());
  return shape;
}

}  // namespace

void save(const std::string& path, const Array& array, const SaveOptions& options) {
  const DType from = array.dtype();
  const DType to = options.dtype.value_or(from);
  const bool fortran = options.order == Order::fortran;
  Array in_file_order = fortran ? array.transpose() : array;
  if (in_file_order.ndim() == 0) in_file_order = in_file_order.index({NewAxis{}});
  // Everything that could be refused for memory is taken before the file is made.
  const std::uint64_t cast_bytes = from == to ? 0 : DenseTiles::least_bytes(from, to);
  RowStream stream(in_file_order.source(), in_file_order.selection(), 0,
                   cast_bytes + SequentialWriter::least_bytes_of_any());
  Lease for_sink = stream.take_beside();
  std::optional<Staging> converted;
  if (cast_bytes > 0) converted.emplace(DenseTiles::most_bytes(from, to), for_sink.split(cast_bytes, Purpose::staging));
  Sink sink(path, array.shape(), to, options, std::move(for_sink));
  for (RowBlock block; stream.next(block);) {
    const Buffer& rows = block.buffer;
    if (from == to) {
      sink.append(rows.data(), rows.size_bytes());
      continue;
    }
    const std::uint64_t step = converted->size_bytes() / itemsize(to);
    for (std::uint64_t at = 0, count = static_cast<std::uint64_t>(rows.size()); at < count; at += step) {
      const std::uint64_t n = std::min(step, count - at);
      cast(rows.data() + at * itemsize(from), from, converted->data(), to, n);
      sink.append(converted->data(), n * itemsize(to));
    }
  }
  sink.commit();
}

void save(const std::string& path, const ConstView& values, const SaveOptions& options) {
  prepare_process();
  const DType to = options.dtype.value_or(values.dtype);
  ConstView in_file_order = values;
  if (options.order == Order::fortran) {
    in_file_order.shape = reversed(values.shape);
    std::reverse(in_file_order.strides_bytes.begin(), in_file_order.strides_bytes.end());
  }
  const std::uint64_t for_tiles = DenseTiles::least_bytes(values.dtype, to);
  Lease lease =
      Budget::process().take(for_tiles + SequentialWriter::least_bytes_of_any(), Purpose::staging, "saving " + path);
  DenseTiles tiles(in_file_order, in_file_order.shape, to, native_endian, lease.split(for_tiles, Purpose::staging));
  Sink sink(path, values.shape, to, options, std::move(lease));
  for (DenseTile tile; tiles.next(tile);) sink.append(tile.data, tile.bytes);
  sink.commit();
}

}  // namespace lowtide
