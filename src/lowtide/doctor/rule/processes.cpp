// More processes, or a copy in each: memory of those that came while it was watched.
#include <fmt/format.h>

#include "lowtide/base/units.h"
#include "lowtide/doctor/rule/ledger.h"

namespace lowtide::doctor {

void claim_processes(const Case& facts, Ledger& ledger) {
  std::int64_t bytes = 0;
  std::size_t born = 0, gone = 0;
  std::string name;
  for (const Change& change : facts.changes()) {
    if (change.gone) {
      ++gone;
      bytes -= static_cast<std::int64_t>(change.before.pss_anon);
    } else if (change.born) {
      ++born;
      // What it grew by after it was first seen is judged as the growth of any other process, if it goes on.
      const bool forked = change.before.exact && change.before.pss_anon * 4 < change.before.anon * 3;
      const std::int64_t fresh = std::max<std::int64_t>(0, change.anon());
      const bool growing = facts.trend_of_anon(change.pid).growing && fresh > static_cast<std::int64_t>(8_MiB);
      const std::int64_t own = forked ? fresh : static_cast<std::int64_t>(change.after.pss_anon);
      bytes += growing ? own - fresh : own;
      name = change.after.name;
    }
  }
  if (born == 0) return;
  const auto count = [](const Sample& s) { return static_cast<double>(s.processes.size()); };
  const Trend trend = facts.trend([&](const Sample& s) { return count(s) * static_cast<double>(64_MiB); });
  const std::size_t before = facts.first().processes.size(), after = facts.last().processes.size();
  Claim claim{"processes", bytes, fmt::format("{} processes more, {} fewer (now {})", born, gone, after),
              false,       name,  {}};
  claim.growing = trend.growing && after >= before + 4;
  claim.evidence.push_back(
      fmt::format("{} processes at first, {} at the end; {} came and {} went in between", before, after, born, gone));
  ledger.take(Pool::anon, std::move(claim));
}

}  // namespace lowtide::doctor
