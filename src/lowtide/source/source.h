// What gives the elements of an array: a file that holds it in one piece, memory, a chunked file, an expression.
//
//   Box box = Box::dense(selection, itemsize(source.dtype()));
//   Needs needs = source.needs(box);                      // what to be admitted with, before anything starts
//   Workspace workspace(needs, Budget::process().take(needs.least_bytes, …));
//   box.memory = …;
//   source.read(box, workspace);
//
// A source lowers a box to what it is made of: a file in one piece to bytes, a chunked file to chunks, an expression to boxes of its
// operands. needs() does that once and leaves what it found in the box, for the read that follows.
//
// Thread-safe: every member, on different boxes and workspaces. Blocks: read and write, for the disk, interruptible; begin_writing, for
// another writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lowtide/dtype.h"
#include "lowtide/index/selection.h"
#include "lowtide/memory/spare_blocks.h"
#include "lowtide/shape.h"

namespace lowtide {

// Working memory of a read or a write, beside the memory that the elements come from or go to.
struct Needs {
  std::uint64_t least_bytes = 0, most_bytes = 0;
  // Room around a dense box that saves a copy where there is some: direct IO moves whole units.
  std::uint64_t before_bytes = 0, after_bytes = 0;
};

// Pays for the working memory of one operation, however many boxes it moves. Not thread-safe.
class Workspace {
 public:
  // `reserved` is what the operation was admitted with: needs.least_bytes.
  Workspace(const Needs& needs, Lease reserved) : most_bytes_(needs.most_bytes), reserved_(std::move(reserved)) {}

  // What it has now, grown up to most_bytes where they are to spare: what staging() will be, less what operands take first.
  std::uint64_t usable_bytes();
  // Bytes in flight that need no memory of ours, up to most_bytes where they are to spare. Not together with staging().
  const Lease& in_flight();
  // Memory for pieces on their way.
  Staging& staging();
  // The share of an operand, split off at the first call and kept for the next read. Before staging() is asked for.
  Workspace& operand(std::size_t number, const Needs& needs);

 private:
  std::uint64_t most_bytes_;
  Lease reserved_;
  bool grown_ = false;
  std::optional<Staging> staging_;
  std::vector<std::unique_ptr<Workspace>> operands_;
};

// What a source made of a box, known to it alone.
class Lowering {
 public:
  virtual ~Lowering() = default;
};

// Held while boxes are written: one writer at a time, and one change to be seen by others.
class Writing {
 public:
  virtual ~Writing() = default;
};

// Elements of a source, and memory for them in native byte order.
struct Box {
  Selection elements;
  std::vector<std::int64_t> strides_bytes;  // of the memory, one for each axis
  std::byte* memory = nullptr;              // of the first element; write() only looks at it
  bool has_room_around = false;             // what Needs will ask for before and after is there to be written over
  std::shared_ptr<const Lowering> lowering = {};

  static Box dense(Selection elements, std::size_t itemsize);  // C order
};

class FileSource;

// Consecutive rows of a selection, a block at a time, begun before they are wanted. Not thread-safe. An error ends it.
class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual void next(std::byte* memory, std::int64_t rows) = 0;  // the next so many rows, dense
};

class Source {
 public:
  virtual ~Source() = default;

  virtual const Shape& shape() const = 0;
  virtual DType dtype() const = 0;
  virtual std::string name() const = 0;  // for messages: a path, or what it is

  // Enough to move these boxes in one call. Fills in their lowering.
  virtual Needs needs(std::span<Box> boxes) const = 0;
  Needs needs(Box& box) const { return needs({&box, 1}); }
  // Enough for any box of so many elements that has no room around: where one workspace serves many reads or writes.
  virtual Needs needs_of_any(std::int64_t size) const = 0;

  // REQUIRES: needs() was asked for these boxes, and the workspace is at least what it said.
  virtual void read(std::span<const Box> boxes, Workspace& workspace) const = 0;
  void read(const Box& box, Workspace& workspace) const { read({&box, 1}, workspace); }
  // Reads all rows of the selection in blocks of `rows`, the last of which may be shorter; null where a read for each block is as good.
  // REQUIRES: the workspace is at least needs_of_any() of a block, outlives it and serves nobody else meanwhile.
  virtual std::unique_ptr<RowReader> row_reader(const Selection& selection, std::int64_t rows,
                                                Workspace& workspace) const;
  // Both throw UnsupportedError where nothing can be written. REQUIRES for write(): what begin_writing() gave is held, and elements are
  // in stored_endian().
  virtual std::unique_ptr<Writing> begin_writing() const;
  virtual void write(std::span<const Box> boxes, Workspace& workspace) const;
  void write(const Box& box, Workspace& workspace) const { write({&box, 1}, workspace); }

  virtual Endian stored_endian() const { return native_endian; }

  // Differs whenever what was read before and what would be read now may differ. Throws DataChangedError where that must not be.
  virtual std::uint64_t stamp() const = 0;

  // The file that holds every element as it is, in one piece; null where none does.
  virtual const FileSource* in_one_file() const { return nullptr; }

  Selection whole() const;  // no selection of it is longer than 2^63 - 1 bytes
};

// Bytes in memory of a dense array of this shape in C order, axis by axis.
std::vector<std::int64_t> dense_strides(const Shape& shape, std::size_t itemsize);

// From the byte order that is not the machine's into the one that is.
void swap_bytes(const Box& box, DType dtype);

}  // namespace lowtide
