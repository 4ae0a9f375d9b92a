// An array in a file, read within the budget.
//
//   lowtide::Array a = lowtide::open("x.npy");
//   lowtide::Array v = a.index({Slice{0, 100}, Slice{{}, {}, -1}});    // a view: no IO
//   lowtide::Buffer b = v.read();                                       // BudgetError if it cannot fit
//   for (lowtide::RowBlock rows : a.blocks()) use(rows.buffer.as<float>());
//
// Arrays are cheap to copy and immutable (assign() writes the file, not the Array); safe to share between threads. Reading blocks for
// the disk and can be interrupted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lowtide/dtype.h"
#include "lowtide/index.h"
#include "lowtide/shape.h"

namespace lowtide {

// Dense elements in C order, in memory that a lease pays for until the last copy of the Buffer is gone.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<void> owner, std::byte* data, Shape shape, DType dtype);

  std::byte* data() const { return data_; }
  std::uint64_t size_bytes() const;
  std::int64_t size() const;
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  const std::shared_ptr<void>& owner() const { return owner_; }

  template <class T>
  std::span<const T> as() const {
    static_assert(is_dtype_v<T>, "T is not an element type of lowtide");
    if (dtype_of<T> != dtype_) throw std::invalid_argument("the buffer holds " + std::string(name(dtype_)));
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(size())};
  }
  template <class T>
  std::vector<T> to_vector() const {
    const auto all = as<T>();
    return {all.begin(), all.end()};
  }

 private:
  std::shared_ptr<void> owner_;
  std::byte* data_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::uint8;
};

// Elements somewhere in the caller's memory, to be written to a file. Strides in bytes.
struct ConstView {
  const std::byte* data = nullptr;
  Shape shape;
  std::vector<std::int64_t> strides_bytes;
  DType dtype = DType::uint8;
  Endian endian = native_endian;

  template <class T>
  static ConstView of(std::span<const T> values) {
    return {reinterpret_cast<const std::byte*>(values.data()),
            {static_cast<std::int64_t>(values.size())},
            {sizeof(T)},
            dtype_of<T>,
            native_endian};
  }
};

// Consecutive rows of an array, as blocks() hands them out.
struct RowBlock {
  std::int64_t start = 0;
  Buffer buffer;
};

class RowStream;
class Selection;
class Source;
struct ArrayState;

// Blocks one after the other, read ahead within the budget. Not thread-safe; may move between threads.
class Blocks {
 public:
  explicit Blocks(std::unique_ptr<RowStream> stream);
  Blocks(Blocks&&) noexcept;
  Blocks& operator=(Blocks&&) noexcept;
  ~Blocks();
  std::optional<RowBlock> next();

  struct End {};
  class Iterator {
   public:
    explicit Iterator(Blocks* blocks) : blocks_(blocks) { ++*this; }
    RowBlock& operator*() { return *current_; }
    Iterator& operator++() {
      current_.reset();
      current_ = blocks_->next();
      return *this;
    }
    bool operator!=(End) const { return current_.has_value(); }

   private:
    Blocks* blocks_;
    std::optional<RowBlock> current_;
  };
  Iterator begin() { return Iterator(this); }
  End end() { return {}; }

 private:
  std::unique_ptr<RowStream> stream_;
};

class Array {
 public:
  explicit Array(std::shared_ptr<const ArrayState> state);

  Shape shape() const;
  std::size_t ndim() const;
  std::int64_t size() const;
  std::uint64_t size_bytes() const;
  DType dtype() const;
  std::string path() const;
  std::string_view format() const;  // "npy", "raw", "llm.c", "litpkds"
  Order order() const;              // of the file
  Endian endian() const;            // of the file; what is read is native
  std::uint64_t data_offset() const;
  std::string_view io_mode() const;
  bool writable() const;

  Array index(std::span<const Index> indices) const;
  Array index(std::initializer_list<Index> indices) const { return index(std::span(indices.begin(), indices.size())); }
  Array transpose(std::span<const std::size_t> permutation) const;
  Array transpose() const;  // all axes reversed

  Buffer read() const;
  Buffer read(std::span<const Index> indices) const;  // the same as index(indices).read()
  // Rows 0 means: chosen from the budget.
  Blocks blocks(std::int64_t rows = 0) const;
  std::uint64_t least_budget_bytes() const;  // the smallest budget in which blocks() runs

  // Writes into the file (opened with Mode::read_write). Values broadcast and are cast as NumPy's assignment does.
  void assign(std::span<const Index> indices, const ConstView& values);
  void flush();  // on disk when it returns

  // What gives the elements, and which of them are named: for the layers above this one.
  const std::shared_ptr<const Source>& source() const;
  const Selection& selection() const;
  Array with(Selection selection) const;  // another selection of the same source

 private:
  std::shared_ptr<const ArrayState> state_;
};

enum class Mode : std::uint8_t { read, read_write };

struct OpenOptions {
  Mode mode = Mode::read;
  // What a headerless file holds. Of a file with a header they must agree with it, or skip it (offset).
  std::optional<DType> dtype = {};
  std::optional<Shape> shape = {};  // at most one -1
  std::uint64_t offset = 0;
  std::optional<Order> order = {};  // C
  Endian endian = native_endian;
  std::optional<std::string> key = {};  // which array, in a file or folder that holds many
  bool live = false;  // do not refuse a file that others write to: reads give what is there, as a map would
};

// The format is told from the content, not from the name. Throws IoError, FormatError, UnsupportedError.
Array open(const std::string& path, const OpenOptions& options = {});

}  // namespace lowtide
