// Bytes appended to a file in order, in large aligned requests, a bounded number of them in flight.
//
//   SequentialWriter writer(file, offset, std::move(reserved));
//   writer.append(data, bytes);
//   writer.flush();                 // everything appended is written (not synced); the file may be up to one unit longer
//
// All but one of its slots are for speed, and go when somebody else needs the bytes between two calls.
//
// Not thread-safe. Blocks when its memory is all in flight. REQUIRES: the file is pinned and outlives it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

#include "lowtide/io/file.h"
#include "lowtide/memory/for_speed.h"
#include "lowtide/memory/spare_blocks.h"
#include "lowtide/transfer/driver.h"

namespace lowtide {

class SequentialWriter {
 public:
  static std::uint64_t least_bytes(const io::File& file);
  static std::uint64_t least_bytes_of_any();  // where the file is not open yet
  static std::uint64_t most_bytes(const io::File& file);

  // Continues at `offset`; the part of its unit before it is read back from the file.
  SequentialWriter(io::File& file, std::uint64_t offset, Lease reserved);

  void append(const std::byte* data, std::uint64_t bytes);
  void flush();
  std::uint64_t position() const { return slot_offset_ + filled_; }  // of the next byte in the file

 private:
  void send(std::uint64_t bytes);
  void take_slot();
  void check_arrived() const;
  std::uint64_t give_back();

  io::File& file_;
  Staging staging_;
  std::uint64_t slot_bytes_;
  std::vector<std::size_t> free_;
  std::size_t slot_ = 0;
  std::uint64_t slot_offset_;  // file byte where the current slot begins: a whole unit
  std::uint64_t filled_;       // bytes in the current slot
  std::exception_ptr failed_;  // what the first write that failed means
  Driver driver_;
  ForSpeed for_speed_{[this](std::uint64_t) { return give_back(); }};
};

}  // namespace lowtide
