#include "lowtide/loader/sample_pages.h"

#include <algorithm>
#include <vector>

#include "lowtide/array/read.h"
#include "lowtide/base/checked.h"
#include "lowtide/formats/raw/raw.h"
#include "lowtide/memory/block.h"
#include "lowtide/source/file_source.h"

namespace lowtide {
namespace {

FileSource bytes_of(const std::shared_ptr<io::File>& file, std::uint64_t offset, Shape shape) {
  return FileSource(file, raw::describe({.dtype = DType::uint8, .shape = std::move(shape), .offset = offset},
                                        file->size_bytes(), file->path()));
}

}  // namespace

SamplePages::SamplePages(std::shared_ptr<io::File> file, std::uint64_t most)
    : file_(std::move(file)), page_count_(file_->size_bytes() / page_bytes), count_(std::min(page_count_, most)) {}

Buffer SamplePages::read(std::uint64_t first, std::uint64_t last) const {
  std::vector<std::int64_t> at;
  for (std::uint64_t i = first; i < last; ++i)
    at.push_back(static_cast<std::int64_t>(count_ == 1 ? 0 : multiply_divide(i, page_count_ - 1, count_ - 1)));
  const FileSource all =
      bytes_of(file_, 0, {static_cast<std::int64_t>(page_count_), static_cast<std::int64_t>(page_bytes)});
  const IndexArray pages{at.data(), {static_cast<std::int64_t>(at.size())}, {sizeof(std::int64_t)}};
  return read_selection(all, all.whole().index({pages}));
}

Buffer SamplePages::rest() const {
  const std::uint64_t offset = page_count_ * page_bytes;
  const FileSource all = bytes_of(file_, offset, {static_cast<std::int64_t>(file_->size_bytes() - offset)});
  return read_selection(all, all.whole());
}

}  // namespace lowtide
