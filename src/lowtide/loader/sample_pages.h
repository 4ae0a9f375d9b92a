// Pages at fixed places of a file, its first and last among them: what a fingerprint hashes and a guess looks at.
//
//   SamplePages pages(file, 256);                 // so many places, or as many as the file has whole pages
//   Buffer some = pages.read(0, 16);              // the first 16 of them, one after the other
//
// Thread-safe. Blocks for the disk, interruptible.
#pragma once

#include <cstdint>
#include <memory>

#include "lowtide/array.h"
#include "lowtide/io/file.h"

namespace lowtide {

class SamplePages {
 public:
  SamplePages(std::shared_ptr<io::File> file, std::uint64_t most);
  std::uint64_t count() const { return count_; }
  Buffer read(std::uint64_t first, std::uint64_t last) const;  // REQUIRES: first < last <= count()
  Buffer rest() const;  // what follows the last whole page; REQUIRES: there is something

 private:
  std::shared_ptr<io::File> file_;
  std::uint64_t page_count_, count_;
};

}  // namespace lowtide
