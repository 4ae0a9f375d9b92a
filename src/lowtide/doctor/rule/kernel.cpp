// Memory that the kernel keeps for the tree: page tables, slab, stacks of threads.
#include <fmt/format.h>

#include "lowtide/base/units.h"
#include "lowtide/doctor/rule/ledger.h"

namespace lowtide::doctor {

void claim_kernel(const Case& facts, Ledger& ledger) {
  const std::int64_t grew = ledger.left(Pool::kernel);
  if (grew <= 0) return;
  Claim claim{"kernel", grew, "kernel memory: page tables, slab, stacks", false, "", {}};
  const std::uint64_t before = facts.first().slab, after = facts.last().slab;
  if (after > before && after - before > 8_MiB)
    claim.evidence.push_back(
        fmt::format("reclaimable slab of the machine grew by {}: names and inodes of many small files",
                    format_bytes(after - before)));
  ledger.take(Pool::kernel, std::move(claim));
}

void claim_device(const Case& facts, Ledger& ledger) {
  const std::int64_t grew = ledger.left(Pool::device);
  if (grew <= 0) return;
  const Trend trend = facts.trend([](const Sample& s) { return static_cast<double>(s.device); });
  ledger.take(
      Pool::device,
      {"device", grew, "memory of the GPU", trend.growing, "", {"by the driver's own count of the tree's processes"}});
}

}  // namespace lowtide::doctor
