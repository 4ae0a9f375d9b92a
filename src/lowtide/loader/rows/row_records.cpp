#include "lowtide/loader/rows/row_records.h"

#include <fmt/format.h>

#include <stdexcept>

#include "lowtide/array/read.h"
#include "lowtide/error.h"

namespace lowtide {

std::shared_ptr<const FileSource> file_of(const Array& array) {
  auto file = in_one_file(array.source());
  if (!file) throw UnsupportedError(array.path() + " is in no single file: save it first, and load that");
  return file;
}

RecordOffsets::RecordOffsets(const Array& offsets, const Array& values)
    : source_(file_of(offsets)),
      selection_(offsets.selection()),
      map_(source_->lower(selection_)),
      value_count_(static_cast<std::uint64_t>(values.size())),
      values_path_(values.path()) {
  if (offsets.dtype() != DType::int64) {
    throw std::invalid_argument(
        fmt::format("offsets of records must be int64, but those in {} are {}", offsets.path(), name(offsets.dtype())));
  }
  if (offsets.ndim() != 1) {
    throw std::invalid_argument(fmt::format("offsets of records must have one dimension, but those in {} have {}",
                                            offsets.path(), offsets.ndim()));
  }
  entry_count_ = static_cast<std::uint64_t>(offsets.size());
  if (entry_count_ == 0) {
    throw std::invalid_argument(
        fmt::format("{} has no offsets: there must be one more than there are records", offsets.path()));
  }
}

Buffer RecordOffsets::read_all() const { return read_selection(*source_, selection_); }

void RecordOffsets::find(std::span<const RecordRange> records, std::vector<RecordRange>& values,
                         const Buffer* all) const {
  values.clear();
  values.reserve(records.size());
  if (all != nullptr) {
    const auto offsets = all->as<std::int64_t>();
    for (const RecordRange& range : records)
      values.push_back(checked(range, offsets[range.first], offsets[range.last]));
    return;
  }
  if (records.empty()) return;
  // Pairs of neighbours are recognised as windows, which need one read and one address each.
  static_assert(sizeof(RecordRange) == 2 * sizeof(std::int64_t));
  const Index pairs = IndexArray{reinterpret_cast<const std::int64_t*>(records.data()),
                                 {static_cast<std::int64_t>(records.size()), 2},
                                 {sizeof(RecordRange), sizeof(std::int64_t)}};
  const Buffer buffer = read_selection(*source_, selection_.index({pairs}));
  const auto offsets = buffer.as<std::int64_t>();
  for (std::size_t i = 0; i < records.size(); ++i)
    values.push_back(checked(records[i], offsets[2 * i], offsets[2 * i + 1]));
}

void RecordOffsets::check(RecordRange records, RecordRange values, std::span<const std::int64_t> offsets) const {
  auto last = static_cast<std::int64_t>(values.first);
  for (std::uint64_t i = 0; i <= records.count(); ++i) {
    const std::int64_t offset = offsets[i];
    const std::uint64_t record = records.first + (i > 0 ? i - 1 : 0);
    if (offset < last || static_cast<std::uint64_t>(offset) > values.last) refuse({record, record + 1}, last, offset);
    last = offset;
  }
}

RecordRange RecordOffsets::checked(RecordRange records, std::int64_t first, std::int64_t last) const {
  if (first < 0 || last < first || static_cast<std::uint64_t>(last) > value_count_) refuse(records, first, last);
  return {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last)};
}

void RecordOffsets::refuse(RecordRange records, std::int64_t first, std::int64_t last) const {
  const std::string which = records.count() == 1 ? fmt::format("record {} is", records.first)
                                                 : fmt::format("records {} to {} are", records.first, records.last - 1);
  throw FormatError(fmt::format("{}: {} values {} to {}, and {} has {}: offsets must ascend and stay within them",
                                source_->name(), which, first, last, values_path_, value_count_));
}

}  // namespace lowtide
