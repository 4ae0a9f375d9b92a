// Pages that forked processes shared and no longer do: resident memory of each stays, private memory grows.
#include <fmt/format.h>

#include <algorithm>

#include "lowtide/base/units.h"
#include "lowtide/doctor/rule/ledger.h"

namespace lowtide::doctor {

void claim_copy_on_write(const Case& facts, Ledger& ledger) {
  std::int64_t bytes = 0, resident = 0;
  std::size_t count = 0;
  std::string name;
  for (const Change& change : facts.changes()) {
    if (change.gone || !change.before.exact || !change.after.exact || change.pid == facts.timeline().pid) continue;
    const std::int64_t grew = std::max<std::int64_t>(0, change.anon());
    const std::int64_t private_grew =
        static_cast<std::int64_t>(change.after.private_dirty) - static_cast<std::int64_t>(change.before.private_dirty);
    const std::int64_t lost =
        static_cast<std::int64_t>(change.before.shared_dirty) - static_cast<std::int64_t>(change.after.shared_dirty);
    const std::int64_t unshared = std::min(private_grew - grew, std::max<std::int64_t>(lost, 0));
    if (unshared <= 0) continue;
    bytes += unshared, resident += change.anon(), ++count;
    name = change.after.name;
  }
  if (bytes < static_cast<std::int64_t>(1_MiB)) return;
  // The parent copies too: growth that no process's resident memory shows is sharing that was lost.
  std::int64_t shown = 0;
  for (const Change& change : facts.changes()) shown += change.gone ? 0 : std::max<std::int64_t>(0, change.anon());
  bytes = std::clamp<std::int64_t>(ledger.left(Pool::anon) - shown, bytes, 2 * bytes);
  Claim claim{"copy_on_write", bytes, fmt::format("copies that {} forked processes made of shared pages", count),
              false,           name,  {}};
  claim.evidence.push_back(
      fmt::format("private memory of {} forked processes grew by {} while their resident memory grew by {}: shared "
                  "pages became copies",
                  count, format_bytes(static_cast<std::uint64_t>(bytes)),
                  format_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(resident, 0)))));
  ledger.take(Pool::anon, std::move(claim));
}

}  // namespace lowtide::doctor
