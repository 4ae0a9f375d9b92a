// Variable-length records: where each is among the values, read from an array of offsets on disk.
//
//   RecordOffsets offsets(offsets_array, values_array);
//   offsets.find(ranges, bounds);          // bounds[i]: the values of records ranges[i].first … ranges[i].last
//
// Immutable; safe to share between threads. Blocks: find(), for the disk.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lowtide/array.h"
#include "lowtide/source/file_source.h"

namespace lowtide {

// Records [first, last), or the values [first, last) that they are.
struct RecordRange {
  std::uint64_t first = 0, last = 0;
  std::uint64_t count() const { return last - first; }
};

// Throws UnsupportedError unless the array is in one file.
std::shared_ptr<const FileSource> file_of(const Array& array);

class RecordOffsets {
 public:
  // Throws std::invalid_argument unless offsets are one-dimensional int64 and at least one.
  RecordOffsets(const Array& offsets, const Array& values);

  std::uint64_t record_count() const { return entry_count_ - 1; }
  std::uint64_t value_count() const { return value_count_; }
  std::uint64_t size_bytes() const { return entry_count_ * sizeof(std::int64_t); }
  const FileSource& source() const { return *source_; }
  const Selection& selection() const { return selection_; }  // int64, one-dimensional
  const ByteMap& map() const { return map_; }                // its bytes in the file

  Buffer read_all() const;
  // `all`: what read_all() gave, where it did. Throws FormatError naming the record if the offsets descend or leave the values.
  void find(std::span<const RecordRange> records, std::vector<RecordRange>& values, const Buffer* all = nullptr) const;
  // That these, the offsets of `records` and of the one behind them, ascend from values.first to values.last.
  void check(RecordRange records, RecordRange values, std::span<const std::int64_t> offsets) const;

 private:
  RecordRange checked(RecordRange records, std::int64_t first, std::int64_t last) const;
  [[noreturn]] void refuse(RecordRange records, std::int64_t first, std::int64_t last) const;

  std::shared_ptr<const FileSource> source_;
  Selection selection_;
  ByteMap map_;
  std::uint64_t entry_count_ = 0, value_count_ = 0;
  std::string values_path_;
};

}  // namespace lowtide
