#include "lowtide/array/assign.h"

#include <mutex>

#include "lowtide/array/dense.h"
#include "lowtide/array/gather.h"

namespace lowtide {
namespace {

// The stamp is taken when the last write is done, even when a write failed half way: the change is still ours.
class OwnChange {
 public:
  explicit OwnChange(io::File& file) : file_(file) { file.begin_change(); }
  ~OwnChange() { file_.end_change(); }
  OwnChange(const OwnChange&) = delete;
  OwnChange& operator=(const OwnChange&) = delete;

 private:
  io::File& file_;
};

void assign_as_is(io::File& file, const Selection& selection, const ConstView& values) {
  const Walk walk = make_walk(selection, broadcast_strides(values, selection.shape()));
  const GatherNeeds needs = gather_needs(file, walk);
  Staging staging(needs.most_bytes,
                  Budget::process().take(needs.least_bytes, Purpose::staging, "writing to " + file.path()));
  scatter(file, walk, values.data, staging);
}

void assign_converted(const Source& source, const Selection& selection, const ConstView& values) {
  io::File& file = *source.file;
  const DType dtype = source.layout.dtype;
  const GatherNeeds needs = gather_needs_of_any(file);
  const std::uint64_t for_tiles = DenseTiles::least_bytes(values.dtype, dtype);
  Lease lease = Budget::process().take(needs.least_bytes + for_tiles, Purpose::staging, "writing to " + file.path());
  DenseTiles tiles(values, selection.shape(), dtype, source.layout.endian, lease.split(for_tiles, Purpose::staging));
  Staging staging(needs.most_bytes, std::move(lease));
  for (DenseTile tile; tiles.next(tile);) {
    Selection part = selection;
    for (std::size_t i = 0; i < tile.begin.size(); ++i)
      part = part.narrow(i, tile.begin[i], tile.begin[i] + tile.extent[i]);
    const Walk walk = make_walk(part, dense_strides(tile.extent, selection.itemsize()));
    scatter(file, walk, tile.data, staging);
  }
}

}  // namespace

void assign_selection(const Source& source, const Selection& selection, const ConstView& values) {
  broadcast_strides(values, selection.shape());  // refuses first
  if (selection.size() == 0) return;
  io::File& file = *source.file;
  const io::File::Pin pin = file.pin();
  const std::lock_guard one_writer(file.write_mutex());
  source.check_unchanged();
  const OwnChange change(file);
  const bool as_is =
      values.dtype == source.layout.dtype && source.layout.endian == native_endian && values.endian == native_endian;
  if (as_is) {
    assign_as_is(file, selection, values);
  } else {
    assign_converted(source, selection, values);
  }
}

}  // namespace lowtide
