// An open file, the way its bytes are moved, and the proof that it is still the file that was opened.
//
//   std::shared_ptr<File> file = File::open("x.npy", Access::read);
//   file->mode();                                             // chosen by a real read of its first bytes, kept in head()
//   File::Pin pin = file->pin();                              // descriptors stay open while a pin lives
//   ssize_t n = file->read(memory, offset, bytes);            // one synchronous request in the file's mode
//
// A file holds one or two descriptors. When half of all that the process may have are here, its soft limit is raised towards the hard
// one. Where that is not enough, or the process runs out (EMFILE), descriptors of files without pins are closed, the longest
// unused first, and opened again at the next pin, after checking that the path still names the same file. One whose path names
// another file or none by then is kept open.
//
// Thread-safe: every member. Blocks: read and write, for one request.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "lowtide/base/turn.h"
#include "lowtide/io/mode.h"
#include "lowtide/io/stamp.h"

namespace lowtide::io {

enum class Access : std::uint8_t { read, read_write };

// Offsets, lengths and memory of direct requests are multiples of this, whatever smaller unit a disk would take; only scattered
// small reads use File::read_unit(), where a row of 4 KiB that straddles two pages is 4.5 KiB rather than 8.
inline constexpr std::size_t direct_align = 4096;
// What File::open reads first: the probe of the mode, and the header of most formats.
inline constexpr std::size_t head_bytes = 4096;

// The state in which this process left an inode when it last wrote to it: a write through one File is no change to another.
struct OwnWrites {
  std::mutex mutex;                     // guards stamps
  Turn writing;                         // of whoever changes the file in place
  std::atomic<int> writers{0};          // changes under way: the stamp moves before `after` does
  std::atomic<std::uint64_t> drops{0};  // ranges that reads have dropped from the page cache
  Stamp after;
};

// Throws std::invalid_argument: system calls would stop at the first one.
void refuse_null_bytes(const std::string& path);

class File : public std::enable_shared_from_this<File> {
 public:
  // Throws IoError (errno, path). Directories, pipes and devices are refused.
  static std::shared_ptr<File> open(const std::string& path, Access access);
  // Takes over a descriptor that the caller created (a new output file), with direct IO where the file system has it.
  static std::shared_ptr<File> adopt(int fd, const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }                    // as it was given
  const std::string& absolute_path() const { return absolute_path_; }  // whatever chdir() does later
  Mode mode() const { return mode_; }
  std::size_t read_unit() const { return read_unit_; }  // what direct reads may begin and end on: 512 to direct_align
  const std::string& mode_reason() const { return mode_reason_; }  // why not a better rung; empty on the best
  std::uint64_t size_bytes() const;
  std::vector<std::byte> take_head() {
    return std::move(head_);
  }  // the first head_bytes, or all of a shorter file; once

  class Pin {
   public:
    explicit Pin(File& file);
    ~Pin();
    Pin(Pin&& other) noexcept : file_(std::exchange(other.file_, nullptr)) {}
    Pin& operator=(Pin&&) = delete;

   private:
    File* file_;
  };
  Pin pin() { return Pin(*this); }

  // REQUIRES: a pin. Negative errno on failure, possibly short. In direct modes everything is direct_align-ed.
  ssize_t read(std::byte* memory, std::uint64_t offset, std::size_t bytes);
  ssize_t write(const std::byte* memory, std::uint64_t offset, std::size_t bytes);
  // Through the page cache whatever the mode, any alignment: for ranges that are cached already.
  ssize_t read_cached(std::byte* memory, std::uint64_t offset, std::size_t bytes);
  // The same for a write that direct IO cannot express (the last bytes of a file); on disk and out of the cache when it returns.
  ssize_t write_cached(const std::byte* memory, std::uint64_t offset, std::size_t bytes);
  // Whether all of the file is in the page cache. The kernel is asked seldom enough that asking costs a twentieth of the time.
  bool wholly_cached();
  void doubt_cached() { ask_again_ns_ = 0; }  // wholly_cached() asks again
  // By cachestat(2): worth read_cached(). False where the kernel lacks it, and in modes that go through the cache anyway.
  bool is_cached(std::uint64_t offset, std::uint64_t bytes);
  int fd() const { return fd_; }  // the direct descriptor, or the buffered one

  // Whether a change from now on would move the stamp: before Linux 6.13 two writes within a tick of the clock have one time, so that
  // what was read from a file just written must not be kept.
  bool stamp_tells() const;
  // Names the content of the file for caches: unique in the process, another one as soon as a change is known of.
  std::uint64_t content_id() const { return content_id_.load(std::memory_order_relaxed); }

  // The state that reads are checked against.
  Stamp stamp() const;
  // Throws DataChangedError if the file is not as it was when opened or last written by this process; one that is open for writing may
  // be written by others too, but not cut, grown or replaced. REQUIRES: a pin.
  void check_unchanged() const;
  // Takes the file as it is now, whoever changed it: for files that are read live.
  void follow_changes();
  void accept_change();                                // after a write of our own
  Turn& write_turn() { return own_writes_->writing; }  // one for all Files of this process on the same inode
  // Around a change in place that other threads may read beside. REQUIRES: write_turn() taken.
  void begin_change() { ++own_writes_->writers; }
  void end_change();
  void sync();  // fdatasync; throws IoError, and every later call does too
  void resize(std::uint64_t bytes);
  [[noreturn]] void fail(const char* what, int code, std::uint64_t offset) const;

  static std::vector<std::shared_ptr<File>> all_open();

 private:
  friend class DescriptorTable;
  File(std::string path, Access access);
  static std::uint64_t new_content_id();
  void see(const Stamp& now) const;  // REQUIRES: own_writes_->mutex held
  void choose_mode();
  bool try_direct();
  bool direct_reads_are_cached(int direct) const;
  void drop_spill(std::uint64_t offset, std::size_t bytes) const;
  bool try_dontcache();
  void read_buffered_head();
  [[noreturn]] void refuse_without_advice(int error) const;
  bool can_be_reopened() const;  // its path still names it
  void reopen();
  void close_descriptors() noexcept;
  int buffered_fd();

  std::string path_, absolute_path_;
  Access access_;
  std::atomic<int> fd_{-1};           // direct in direct modes
  std::atomic<int> buffered_fd_{-1};  // opened at first use in direct modes, equal to fd_ otherwise
  Mode mode_ = Mode::buffered;
  std::string mode_reason_;
  std::size_t read_unit_ = direct_align;
  std::uint64_t spill_bytes_ = 0;  // how far around a read the file system brings in pages that nobody asked for
  std::vector<std::byte> head_;
  std::shared_ptr<OwnWrites> own_writes_;  // one for all Files of this process on the same inode
  bool adopted_ = false;
  mutable Stamp stamp_;  // the state this File has seen; guarded by own_writes_->mutex
  Turn opening_;
  std::atomic<bool> wholly_cached_{false};
  std::atomic<std::int64_t> ask_again_ns_{0};  // when wholly_cached_ is no longer believed
  mutable std::atomic<std::uint64_t> content_id_;
  std::atomic<bool> sync_failed_{false};
  int pins_ = 0;                // guarded by the descriptor table
  std::uint64_t last_use_ = 0;  // likewise
};

}  // namespace lowtide::io
