// Shared memory and tmpfs: charged to whoever touched it first, freed only when it is unlinked and unmapped.
#include <fmt/format.h>

#include "lowtide/base/units.h"
#include "lowtide/doctor/rule/ledger.h"

namespace lowtide::doctor {

void claim_shared_memory(const Case& facts, Ledger& ledger) {
  const std::int64_t grew = ledger.left(Pool::shmem);
  if (grew <= 0) return;
  const auto mapped = [](const Sample& s) {
    std::uint64_t bytes = 0;
    for (const ProcessSample& p : s.processes) bytes += p.pss_shmem;
    return bytes;
  };
  const Trend trend = facts.trend([&](const Sample& s) {
    return facts.own_cgroup() ? static_cast<double>(s.cgroup.shmem)
                              : static_cast<double>(std::max(s.shm_of_tree, mapped(s)));
  });
  Claim claim{"shared_memory", grew, "shared memory and files in tmpfs", trend.growing, "/dev/shm", {}};
  claim.evidence.push_back(fmt::format("{} of shared memory more than at first; the tree maps {}",
                                       format_bytes(static_cast<std::uint64_t>(grew)),
                                       format_bytes(mapped(facts.last()))));
  ledger.take(Pool::shmem, std::move(claim));
}

}  // namespace lowtide::doctor
