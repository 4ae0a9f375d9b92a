// Where the records of coming batches are, found for several batches at a time: a read for each batch would make every one wait.
//
//   RecordsAhead ahead(table, sampler, schedule);
//   const PlannedRecords& planned = ahead.of(step);       // steps in the order of the schedule
//
// Offsets that are few beside the budget are held whole instead.
//
// Not thread-safe. Blocks for the disk.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "lowtide/loader/order/sampler.h"
#include "lowtide/loader/order/schedule.h"
#include "lowtide/loader/rows/row_table.h"

namespace lowtide {

struct PlannedRecords {
  Step step;
  std::vector<std::uint64_t> samples;
  std::vector<std::vector<RecordRange>> values;  // [column of records][sample]
};

class RecordsAhead {
 public:
  RecordsAhead(std::shared_ptr<const RowTable> table, const Sampler& sampler, const Schedule& schedule);
  // REQUIRES: a step that is not empty. Valid until the next call.
  PlannedRecords& of(const Step& step);

 private:
  void look_ahead(const Step& step);
  void hold_small_offsets();

  std::shared_ptr<const RowTable> table_;
  Sampler sampler_;
  Schedule schedule_;
  bool asked_ = false;
  std::vector<Buffer> held_;  // by column of records; empty where they are too many
  std::deque<PlannedRecords> planned_;
};

}  // namespace lowtide
