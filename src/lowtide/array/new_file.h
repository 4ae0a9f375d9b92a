// A new array file on disk: its format, its header, its space, and the moment it appears under its name.
//
//   NewFile file(path, {}, shape, DType::float32, Order::c, overwrite);
//   file.reserve_all();
//   … data from file.layout().data_offset on …
//   file.commit(file.layout());                // header last, then synced and named
//
// Not thread-safe. Blocks: commit().
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lowtide/formats/layout.h"
#include "lowtide/io/output.h"

namespace lowtide {

class NewFile {
 public:
  // The format is "npy" or "raw"; by default npy for a name that ends in .npy and raw for others.
  NewFile(const std::string& path, const std::optional<std::string>& format, const Shape& shape, DType dtype,
          Order order, bool overwrite);

  const std::string& path() const { return path_; }
  const Layout& layout() const { return layout_; }
  std::shared_ptr<io::File> shared_file() { return output_.file().shared_from_this(); }
  void reserve(std::uint64_t bytes) { output_.reserve(bytes); }
  void reserve_all();
  // REQUIRES: `layout` differs from layout() in its shape only.
  void commit(const Layout& layout);
  void discard() noexcept {
    pin_.reset();
    output_.discard();
  }

 private:
  std::string path_;
  Layout layout_;
  io::OutputFile output_;
  std::optional<io::File::Pin> pin_;
};

}  // namespace lowtide
