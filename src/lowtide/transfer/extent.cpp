#include "lowtide/transfer/extent.h"

#include <algorithm>

#include "lowtide/memory/block.h"

namespace lowtide {

Span whole_units(Span range, std::uint64_t unit) { return {round_down(range.begin, unit), round_up(range.end, unit)}; }

bool Extent::join(Span range, std::uint64_t most_bytes, std::uint64_t unit) {
  if (range.begin > end + static_cast<std::uint64_t>(widest_gap_bytes)) return false;
  const std::uint64_t joined_end = std::max(end, range.end);
  if (whole_units({begin, joined_end}, unit).bytes() > most_bytes) return false;
  gapless = gapless && range.begin <= end;
  end = joined_end;
  ++last;
  return true;
}

}  // namespace lowtide
