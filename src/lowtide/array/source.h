// A file and what its header says: what every read and write in this layer starts from.
#pragma once

#include <memory>

#include "lowtide/array/read_ahead.h"
#include "lowtide/array/selection.h"
#include "lowtide/formats/layout.h"
#include "lowtide/io/file.h"

namespace lowtide {

struct Source {
  std::shared_ptr<io::File> file;
  Layout layout;
  bool live = false;  // others may write to the file while it is read

  std::shared_ptr<ReadAhead> read_ahead = std::make_shared<ReadAhead>();  // one for all views of an open file

  void check_unchanged() const {
    if (live) {
      file->follow_changes();
    } else {
      file->check_unchanged();
    }
  }
};

// Bytes in memory of a dense array of this shape in C order, axis by axis.
std::vector<std::int64_t> dense_strides(const Shape& shape, std::size_t itemsize);

}  // namespace lowtide
