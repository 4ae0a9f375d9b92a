// Memory for the entries of a selection's tables; internal to index/.
//
//   Block block = allocate_entries(count, 8);              // leased (Purpose::index) and zeroed; BudgetError
//   table.owner = share_entries(std::move(block));
//
// Thread-safe. Blocks as Budget::take() does.
#pragma once

#include <cstdint>
#include <memory>

#include "lowtide/memory/block.h"

namespace lowtide {

Block allocate_entries(std::int64_t count, std::int64_t bytes_each);
// A loop over batches makes a small table for each: its pages are kept for the next.
std::shared_ptr<const Block> share_entries(Block block);

}  // namespace lowtide
