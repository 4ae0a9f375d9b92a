#include "lowtide/array/assign.h"

#include "lowtide/array/dense.h"

namespace lowtide {
namespace {

void assign_as_is(const Source& source, const Selection& selection, const ConstView& values) {
  Box box{.elements = selection, .strides_bytes = broadcast_strides(values, selection.shape())};
  box.memory = const_cast<std::byte*>(values.data);  // write() only looks at it
  const Needs needs = source.needs(box);
  Workspace workspace(needs,
                      Budget::process().take(needs.least_bytes, Purpose::staging, "writing to " + source.name()));
  source.write(box, workspace);
}

void assign_converted(const Source& source, const Selection& selection, const ConstView& values) {
  const DType dtype = source.dtype();
  const Needs needs = source.needs_of_any(selection.size());
  const std::uint64_t for_tiles = DenseTiles::least_bytes(values.dtype, dtype);
  Lease lease = Budget::process().take(needs.least_bytes + for_tiles, Purpose::staging, "writing to " + source.name());
  DenseTiles tiles(values, selection.shape(), dtype, source.stored_endian(), lease.split(for_tiles, Purpose::staging));
  Workspace workspace(needs, std::move(lease));
  for (DenseTile tile; tiles.next(tile);) {
    Selection part = selection;
    for (std::size_t i = 0; i < tile.begin.size(); ++i)
      part = part.narrow(i, tile.begin[i], tile.begin[i] + tile.extent[i]);
    Box box = Box::dense(std::move(part), itemsize(dtype));
    box.memory = const_cast<std::byte*>(tile.data);
    source.needs(box);
    source.write(box, workspace);
  }
}

}  // namespace

void assign_selection(const Source& source, const Selection& selection, const ConstView& values) {
  broadcast_strides(values, selection.shape());  // refuses first
  if (selection.size() == 0) return;
  const std::unique_ptr<Writing> writing = source.begin_writing();
  const bool as_is =
      values.dtype == source.dtype() && source.stored_endian() == native_endian && values.endian == native_endian;
  if (as_is) {
    assign_as_is(source, selection, values);
  } else {
    assign_converted(source, selection, values);
  }
}

}  // namespace lowtide
