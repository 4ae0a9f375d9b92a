// File mappings that somebody else made (np.memmap): what they keep in memory, and how to give it back.
//
//   release_mapping({address, bytes, path, file_offset});        // the pages leave the process and the page cache
//   MappingGuard guard(mapping, 512_MiB);                         // the same, in the background, whenever more than that is resident
//
// The mapping must stay mapped while these run: whoever owns it stops the guard first.
//
// Thread-safe. release_mapping blocks for the disk when pages are dirty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lowtide::io {

struct Mapping {
  std::byte* address = nullptr;  // need not be page-aligned
  std::uint64_t bytes = 0;
  std::string path;
  std::uint64_t file_offset = 0;  // of address
};

// Bytes of the mapped range that are in the page cache. Throws IoError.
std::uint64_t resident_bytes(const Mapping& mapping);
// Dirty pages are written back first. Returns the bytes that left the page cache. Throws IoError.
std::uint64_t release_mapping(const Mapping& mapping);

class MappingGuard {
 public:
  MappingGuard(Mapping mapping, std::uint64_t limit_bytes);
  ~MappingGuard();  // stops, and waits for a release under way
  MappingGuard(const MappingGuard&) = delete;
  MappingGuard& operator=(const MappingGuard&) = delete;

  void stop();
  std::uint64_t released_bytes() const;  // since the start

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace lowtide::io
