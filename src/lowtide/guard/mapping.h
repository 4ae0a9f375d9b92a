// File mappings that somebody else made (np.memmap): what they keep in memory, and how to give it back.
//
//   const Mapping mapping{address, bytes, path, file_offset};
//   check_shared(mapping);                    // throws unless the kernel maps that file there, shared
//   release_mapping(mapping);                 // the pages leave the process and the page cache
//
// Dropping pages of a private map would discard what was changed in it, and dropping those of another address whatever is there. The
// mapping must stay mapped while these run: the caller holds it.
//
// Thread-safe. release_mapping blocks for the disk when pages are dirty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lowtide::guard {

struct Mapping {
  std::byte* address = nullptr;  // need not be page-aligned
  std::uint64_t bytes = 0;
  std::string path;
  std::uint64_t file_offset = 0;  // of address
};

// Throws UnsupportedError for a private map (copy on write), DataChangedError where the path names another file than the one mapped.
void check_shared(const Mapping& mapping);
// Dirty pages are written back first. Returns the bytes that left the page cache. Throws as check_shared, and IoError.
std::uint64_t release_mapping(const Mapping& mapping);

// A mapping and its file, for whoever asks often.
class MappedFile {
 public:
  explicit MappedFile(Mapping mapping);  // throws as check_shared
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::uint64_t cached_bytes() const;  // of the mapped range, in the page cache
  void release() const;                // throws IoError
  void expect_random(bool yes) const;  // whether a touched page brings in its neighbours

 private:
  Mapping mapping_;
  int fd_;
};

}  // namespace lowtide::guard
