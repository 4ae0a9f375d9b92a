#include "lowtide/source/file_source.h"

#include <algorithm>
#include <utility>

#include "lowtide/kernels/byteswap.h"
#include "lowtide/transfer/gather.h"
#include "lowtide/transfer/range.h"
#include "lowtide/transfer/warm_copy.h"
#include "lowtide/transfer/warm_gather.h"
#include "lowtide/transfer/whole_files.h"

namespace lowtide {
namespace {

// One range straight into memory that has room for whole units, or a walk.
struct FileLowering final : Lowering {
  bool is_range = false;
  std::uint64_t offset = 0, bytes = 0;  // of the range
  Walk walk;
  bool regular = false;  // the walk has no tables: these say it all
  std::int64_t base = 0;
  std::vector<std::int64_t> file_strides, memory_strides, shape;
};

class FileWriting final : public Writing {
 public:
  explicit FileWriting(const FileSource& source)
      : file_(source.shared_file()),
        pin_(file_->pin()),
        one_writer_(file_->write_turn().take("writing to " + file_->path())) {
    source.check_unchanged();
    file_->begin_change();
  }
  // The stamp is taken when the last write is done, even when a write failed half way: the change is still ours.
  ~FileWriting() override { file_->end_change(); }

 private:
  std::shared_ptr<io::File> file_;
  io::File::Pin pin_;
  Turn::Held one_writer_;
};

bool copy_regular(io::File& file, const FileLowering& way, std::size_t itemsize, std::byte* memory) {
  return way.regular && copy_warm(file, {way.base, way.file_strides, way.memory_strides, way.shape, itemsize}, memory);
}

// Boxes are moved one after the other.
Needs larger(const Needs& a, const Needs& b) {
  return {std::max(a.least_bytes, b.least_bytes), std::max(a.most_bytes, b.most_bytes),
          std::max(a.before_bytes, b.before_bytes), std::max(a.after_bytes, b.after_bytes)};
}

const FileLowering& lowered(const Box& box) { return static_cast<const FileLowering&>(*box.lowering); }

}  // namespace

FileSource::FileSource(std::shared_ptr<io::File> file, Layout layout, bool live)
    : file_(std::move(file)), layout_(std::move(layout)), strides_bytes_(layout_.strides_bytes()), live_(live) {}

ByteMap FileSource::lower(const Selection& selection) const {
  return lowtide::lower(selection, static_cast<std::int64_t>(layout_.data_offset), strides_bytes_,
                        itemsize(layout_.dtype));
}

void FileSource::check_unchanged() const {
  if (live_) {
    file_->follow_changes();
  } else {
    file_->check_unchanged();
  }
}

std::uint64_t FileSource::stamp() const {
  const io::File::Pin pin = file_->pin();
  check_unchanged();
  return file_->content_id();
}

Needs FileSource::needs(std::span<Box> boxes) const {
  Needs all;
  for (Box& box : boxes) {
    auto lowering = std::make_shared<FileLowering>();
    ByteMap map = lower(box.elements);
    if (map.size() > 0 && box.has_room_around && map.contiguous()) {
      lowering->is_range = true;
      lowering->offset = static_cast<std::uint64_t>(map.base);
      lowering->bytes = map.size_bytes();
      const Span span = whole_units({lowering->offset, lowering->offset + lowering->bytes});
      all = larger(all,
                   {std::min(Pace::least_bytes(*file_), span.bytes()), std::min(Pace::most_bytes(*file_), span.bytes()),
                    lowering->offset - span.begin, span.end - lowering->offset - lowering->bytes});
    } else if (map.size() > 0) {
      lowering->regular = map.tables.empty();
      lowering->base = map.base;
      lowering->shape = map.shape();
      lowering->memory_strides = box.strides_bytes;
      for (const ByteAxis& axis : map.axes) lowering->file_strides.push_back(axis.stride_bytes);
      lowering->walk = make_walk(std::move(map), box.strides_bytes);
      const GatherNeeds needs = gather_needs(*file_, lowering->walk);
      all = larger(all, {needs.least_bytes, needs.most_bytes, 0, 0});
    }
    box.lowering = std::move(lowering);
  }
  return all;
}

Needs FileSource::needs_of_any(std::int64_t) const {
  const GatherNeeds needs = gather_needs_of_any(*file_);
  return {needs.least_bytes, needs.most_bytes, 0, 0};
}

void FileSource::read(std::span<const Box> boxes, Workspace& workspace) const {
  const io::File::Pin pin = file_->pin();
  check_unchanged();
  for (const Box& box : boxes) {
    if (box.elements.size() > 0) read_one(box, workspace);
  }
  check_unchanged();
  if (!swapped()) return;
  for (const Box& box : boxes) swap_bytes(box, layout_.dtype);
}

void FileSource::read_one(const Box& box, Workspace& workspace) const {
  const FileLowering& way = lowered(box);
  if (!way.is_range) {
    if (copy_regular(*file_, way, itemsize(layout_.dtype), box.memory) || gather_warm(*file_, way.walk, box.memory))
      return;
    if (way.walk.run_span_bytes <= ReadAhead::most_bytes) WholeFiles::process().note(*file_);
    gather(*file_, way.walk, box.memory, workspace.staging());
    return;
  }
  const bool small = way.bytes <= ReadAhead::most_bytes;  // a large copy is as fast through the kernel
  if (small && copy_warm(*file_, {static_cast<std::int64_t>(way.offset), {}, {}, {}, way.bytes}, box.memory)) return;
  // Stores through somebody's map leave no trace that a buffered mode would see: what is live is not kept there.
  const bool may_keep = !live_ || io::is_direct(file_->mode());
  if (small && may_keep && read_ahead_->serve(*file_, way.offset, way.bytes, box.memory)) return;
  if (small && !may_keep) WholeFiles::process().note(*file_);  // read_ahead tells of the others
  std::byte* whole = box.memory - (way.offset - whole_units({way.offset, way.offset + way.bytes}).begin);
  read_range(*file_, whole, way.offset, way.bytes, workspace.in_flight());
}

bool FileSource::read_warm_element(const Selection& selection, std::span<const std::int64_t> index,
                                   std::byte* out) const {
  const ByteMap map = lower(selection);
  if (index.size() != map.axes.size() || !map.tables.empty()) return false;
  std::int64_t offset = map.base;
  for (std::size_t i = 0; i < index.size(); ++i) {
    const ByteAxis& axis = map.axes[i];
    const std::int64_t at = index[i] < 0 ? index[i] + axis.extent : index[i];
    if (at < 0 || at >= axis.extent) return false;
    offset += at * axis.stride_bytes;
  }
  const io::File::Pin pin = file_->pin();
  if (!copy_warm(*file_, {offset, {}, {}, {}, map.itemsize}, out)) return false;
  if (!live_) file_->check_unchanged();  // what is live was read from where others write
  if (swapped()) byteswap(out, layout_.dtype, 1);
  return true;
}

std::unique_ptr<Writing> FileSource::begin_writing() const { return std::make_unique<FileWriting>(*this); }

void FileSource::write(std::span<const Box> boxes, Workspace& workspace) const {
  for (const Box& box : boxes) {
    if (box.elements.size() > 0) scatter(*file_, lowered(box).walk, box.memory, workspace.staging());
  }
}

std::shared_ptr<const FileSource> in_one_file(const std::shared_ptr<const Source>& source) {
  return {source, source->in_one_file()};
}

}  // namespace lowtide
