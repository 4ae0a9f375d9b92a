// A source that is one file, which holds every element as it is and all of them in one piece: .npy, raw, token files.
//
//   FileSource source(io::File::open("x.npy", io::Access::read), layout);
//   ByteMap map = source.lower(source.whole().rows(0, 10));      // where in the file
//
// Thread-safe. Blocks as Source does.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lowtide/formats/layout.h"
#include "lowtide/io/file.h"
#include "lowtide/source/source.h"
#include "lowtide/transfer/byte_map.h"
#include "lowtide/transfer/read_ahead.h"

namespace lowtide {

class FileSource final : public Source {
 public:
  // `live`: others may write to the file while it is read.
  FileSource(std::shared_ptr<io::File> file, Layout layout, bool live = false);

  const Shape& shape() const override { return layout_.shape; }
  DType dtype() const override { return layout_.dtype; }
  std::string name() const override { return file_->path(); }
  Needs needs(std::span<Box> boxes) const override;
  Needs needs_of_any(std::int64_t size) const override;
  void read(std::span<const Box> boxes, Workspace& workspace) const override;
  std::unique_ptr<Writing> begin_writing() const override;
  void write(std::span<const Box> boxes, Workspace& workspace) const override;
  Endian stored_endian() const override { return layout_.endian; }
  std::uint64_t stamp() const override;
  const FileSource* in_one_file() const override { return this; }
  using Source::needs;
  using Source::read;
  using Source::write;

  io::File& file() const { return *file_; }
  const std::shared_ptr<io::File>& shared_file() const { return file_; }
  const Layout& layout() const { return layout_; }
  bool live() const { return live_; }
  bool swapped() const { return layout_.endian != native_endian; }
  ByteMap lower(const Selection& selection) const;  // its bytes in the file
  // One element, in native byte order, of a file that is all in the page cache; false, and nothing read, for any reason to do more:
  // another number of indices, one out of bounds, a file that is not cached.
  bool read_warm_element(const Selection& selection, std::span<const std::int64_t> index, std::byte* out) const;
  void check_unchanged() const;  // or, of a live file, takes it as it is now. REQUIRES: the file is pinned

 private:
  void read_one(const Box& box, Workspace& workspace) const;

  std::shared_ptr<io::File> file_;
  Layout layout_;
  std::vector<std::int64_t> strides_bytes_;
  bool live_;
  std::unique_ptr<ReadAhead> read_ahead_ = std::make_unique<ReadAhead>();  // one for all views of an open file
};

// Keeps the source alive. Null where no file holds it in one piece.
std::shared_ptr<const FileSource> in_one_file(const std::shared_ptr<const Source>& source);

}  // namespace lowtide
