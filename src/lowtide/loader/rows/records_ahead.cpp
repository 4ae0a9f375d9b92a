#include "lowtide/loader/rows/records_ahead.h"

#include <utility>

#include "lowtide/base/units.h"
#include "lowtide/memory/budget.h"

namespace lowtide {
namespace {

// Enough for the reads of a look ahead to be in flight together; their results are 64 KiB.
constexpr std::uint64_t enough_records = 4096;
constexpr std::size_t most_steps = 64;

bool is_small(const RecordOffsets& offsets) {
  const Budget& budget = Budget::process();
  return offsets.size_bytes() <= budget.limit_bytes() / 16 && offsets.size_bytes() <= budget.spare_bytes() / 8;
}

}  // namespace

RecordsAhead::RecordsAhead(std::shared_ptr<const RowTable> table, const Sampler& sampler, const Schedule& schedule)
    : table_(std::move(table)), sampler_(sampler), schedule_(schedule) {}

PlannedRecords& RecordsAhead::of(const Step& step) {
  while (!planned_.empty() && planned_.front().step.begin != step.begin) planned_.pop_front();
  if (planned_.empty()) look_ahead(step);
  return planned_.front();
}

void RecordsAhead::hold_small_offsets() {
  if (std::exchange(asked_, true)) return;
  for (const TableColumn& column : table_->columns()) {
    if (column.offsets) held_.push_back(is_small(*column.offsets) ? column.offsets->read_all() : Buffer());
  }
}

void RecordsAhead::look_ahead(const Step& step) {
  hold_small_offsets();
  std::deque<PlannedRecords> planned;
  std::vector<RecordRange> records;
  Step at = step;
  for (std::size_t i = 0; i < most_steps && (i == 0 || records.size() < enough_records); ++i) {
    if (at.begin < at.end) {
      PlannedRecords& next = planned.emplace_back();
      next.step = at;
      sampler_.fill(at.begin, at.end, next.samples);
      for (const std::uint64_t sample : next.samples) records.push_back({sample, sample + 1});
    }
    at = schedule_.step(at.next);
  }
  std::size_t number = 0;
  for (const TableColumn& column : table_->columns()) {
    if (!column.offsets) continue;
    const Buffer& held = held_[number++];
    std::vector<RecordRange> values;
    column.offsets->find(records, values, held.data() != nullptr ? &held : nullptr);
    auto from = values.begin();
    for (PlannedRecords& each : planned) {
      const auto to = from + static_cast<std::ptrdiff_t>(each.samples.size());
      each.values.emplace_back(from, to);
      from = to;
    }
  }
  planned_ = std::move(planned);
}

}  // namespace lowtide
