// A file that appears whole or not at all.
//
//   OutputFile out = OutputFile::create("y.npy", {.overwrite = false});
//   out.reserve(bytes);                        // a full disk is refused here
//   … write through out.file() …
//   out.commit(bytes);                         // synced, then the name appears; readers see the old file or the new one
//
// The bytes go to an unnamed file (O_TMPFILE) where the file system has those, so a killed process leaves nothing behind; elsewhere, and
// for the moment in which an old file is replaced, they have a hidden name beside the target. What a killed process left there is
// removed by the next save to the same target: its maker's lock is gone. Destroyed without commit(), it leaves nothing.
//
// Not thread-safe. Blocks: commit(), for the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "lowtide/base/fork.h"
#include "lowtide/io/file.h"

namespace lowtide::io {

class OutputFile {
 public:
  // Throws IoError: EEXIST if the target exists and overwrite is false, ENOENT for a missing folder, …
  static OutputFile create(const std::string& path, bool overwrite);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  File& file() { return *file_; }
  void reserve(std::uint64_t bytes);
  void commit(std::uint64_t bytes);
  void discard() noexcept;

 private:
  OutputFile(std::string path, bool overwrite) : path_(std::move(path)), overwrite_(overwrite) {}
  int create_hidden(mode_t permissions);  // a descriptor, or -1 and errno
  void give_name();

  MadeHere made_;
  std::string path_;  // the target, symbolic links resolved
  bool overwrite_;
  std::string temporary_;  // empty while the file has no name
  bool named_ = false;     // the target is there; what came after that failed
  std::shared_ptr<File> file_;
};

}  // namespace lowtide::io
