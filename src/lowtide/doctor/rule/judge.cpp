#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lowtide/base/units.h"
#include "lowtide/doctor/rule/ledger.h"
#include "lowtide/doctor/rule/verdict.h"

namespace lowtide::doctor {
namespace {

constexpr std::uint64_t large_bytes = 256_MiB;  // below that nobody asks where memory went

// Only the program itself can release these.
bool can_leak(const std::string& kind) {
  constexpr std::array kinds = {"objects", "garbage", "native", "shared_memory", "processes", "device"};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::string size(double bytes) { return format_bytes(static_cast<std::uint64_t>(std::abs(bytes))); }

std::string duration(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 172800)
    return fmt::format("{:.0f} h {:02.0f} min", std::floor(seconds / 3600), std::fmod(seconds, 3600) / 60);
  return fmt::format("{:.0f} days", seconds / 86400);
}

// A leak that is not drowned by innocent growth speaks first; then the largest claim.
const Claim* main_claim(const std::vector<Claim>& claims, double least) {
  const Claim* main = nullptr;
  for (const Claim& c : claims) {
    if (c.growing && can_leak(c.kind) && static_cast<double>(c.bytes) >= least &&
        (main == nullptr || c.bytes > main->bytes))
      main = &c;
  }
  if (main != nullptr) return main;
  for (const Claim& c : claims) {
    if (static_cast<double>(c.bytes) >= least && (main == nullptr || c.bytes > main->bytes)) main = &c;
  }
  return main;
}

// Several claims of one kind (one a process) are one thing to the reader.
std::int64_t of_kind(const Verdict& verdict, const std::string& kind) {
  const auto at = verdict.parts.find(kind);
  return at == verdict.parts.end() ? 0 : at->second;
}

std::string meaning(const Verdict& v) {
  const std::string bytes = size(static_cast<double>(of_kind(v, v.kind)));
  if (v.kind == "objects")
    return fmt::format("{} of live objects are kept{}", bytes, v.where.empty() ? "" : " by " + v.where);
  if (v.kind == "garbage") return fmt::format("{} of unreachable objects were not collected", bytes);
  if (v.kind == "native")
    return fmt::format("{} of native memory is live{}", bytes, v.where.empty() ? "" : ", allocated in " + v.where);
  if (v.kind == "allocator") return fmt::format("{} was freed by the program and is kept by its allocator", bytes);
  if (v.kind == "mapped_files")
    return fmt::format("{}{} is mapped and will be given back under pressure", bytes,
                       v.where.empty() ? " of files" : " of " + v.where);
  if (v.kind == "page_cache")
    return fmt::format("{}{} is in the page cache and will be given back under pressure", bytes,
                       v.where.empty() ? " of files" : " of " + v.where);
  if (v.kind == "shared_memory") return fmt::format("{} of shared memory was not given back", bytes);
  if (v.kind == "copy_on_write") return fmt::format("{} are copies that forked processes made of shared pages", bytes);
  if (v.kind == "processes") return fmt::format("{} belongs to processes that were added", bytes);
  if (v.kind == "warm_up") return fmt::format("memory grew by {} and then stopped", size(static_cast<double>(v.bytes)));
  if (v.kind == "kernel") return fmt::format("{} is the kernel's own memory", bytes);
  if (v.kind == "device") return fmt::format("{} of GPU memory is held", bytes);
  if (v.kind == "large")
    return fmt::format("{} are in use, and that does not grow", size(static_cast<double>(v.level_bytes)));
  if (v.kind == "flat") return fmt::format("memory stays at {}", size(static_cast<double>(v.level_bytes)));
  return fmt::format("{} of growth is not explained", bytes);
}

void set_rates(Verdict& verdict, const Case& facts, const JudgeOptions& options) {
  const double seconds = facts.seconds();
  const std::uint64_t steps = facts.steps_between();
  verdict.step_count = facts.timeline().step_count;
  const std::int64_t grew = verdict.leak ? of_kind(verdict, verdict.kind) : verdict.bytes;
  if (steps > 0) verdict.per_step_bytes = static_cast<double>(grew) / static_cast<double>(steps);
  const double slope = facts.bytes_per_second();
  if (seconds > 0 && (verdict.leak || std::abs(slope) * seconds > 1e6)) verdict.per_second_bytes = slope;
  verdict.limit_bytes = options.limit_bytes != 0 ? options.limit_bytes : facts.last().cgroup.limit;
  if (verdict.leak && verdict.limit_bytes > 0 && slope > 0 &&
      verdict.level_bytes < static_cast<std::int64_t>(verdict.limit_bytes))
    verdict.seconds_to_limit =
        (static_cast<double>(verdict.limit_bytes) - static_cast<double>(verdict.level_bytes)) / slope;
}

double confidence_of(const Verdict& verdict, const Case& facts) {
  const double residue = std::abs(static_cast<double>(of_kind(verdict, "unexplained")));
  double confidence = 0.95 - 0.5 * std::min(1.0, residue / std::max(1.0, std::abs(static_cast<double>(verdict.bytes))));
  if (facts.timeline().samples.size() < 20) confidence -= 0.2;
  if (facts.timeline().agents.empty()) confidence -= 0.1;
  return std::clamp(confidence, 0.1, 0.95);
}

void set_summary(Verdict& verdict) {
  const bool innocent = verdict.kind == "flat" || verdict.kind == "large";
  verdict.summary = (verdict.leak ? "a leak: " : verdict.kind == "unexplained" ? "not known: " : "not a leak: ");
  if (verdict.leak && verdict.per_step_bytes)
    verdict.summary += fmt::format("{} a step; ", size(*verdict.per_step_bytes));
  else if (verdict.leak && verdict.per_second_bytes)
    verdict.summary += fmt::format("{} a second; ", size(*verdict.per_second_bytes));
  verdict.summary += meaning(verdict);
  if (!verdict.fix.empty() && !innocent) verdict.summary += "; " + verdict.fix;
  if (verdict.seconds_to_limit)
    verdict.evidence.push_back(fmt::format("at this rate the limit of {} is reached in {}",
                                           format_bytes(verdict.limit_bytes), duration(*verdict.seconds_to_limit)));
}

void set_main(Verdict& verdict, const Case& facts, Ledger& ledger) {
  const double level = facts.total(facts.last()), least = least_growth(level);
  const Claim* main = main_claim(ledger.claims(), least);
  const bool leaking = main != nullptr && main->growing && can_leak(main->kind);
  if (main == nullptr ||
      (!leaking && static_cast<double>(verdict.bytes) < least && static_cast<double>(main->bytes) < 2 * least)) {
    verdict.kind = level >= static_cast<double>(large_bytes) ? "large" : "flat";
    return;
  }
  if (main->kind == "warm_up" && level >= static_cast<double>(large_bytes) && facts.grew_at_once()) {
    verdict.kind = "large";
    return;
  }
  verdict.kind = main->kind;
  verdict.leak = leaking;
  verdict.where = main->where;
  verdict.evidence = main->evidence;
  verdict.fix = fix_for(main->kind, *main, facts.timeline());
}

}  // namespace

Verdict judge(const Timeline& timeline, const JudgeOptions& options) {
  Verdict verdict;
  verdict.blind = timeline.blind;
  const Case facts(timeline);
  if (!facts.enough()) {
    verdict.summary = "not known: the program ended before it could be looked at four times";
    verdict.kind = "flat";
    verdict.blind.push_back(fmt::format("{} looks are too few to judge by", timeline.samples.size()));
    verdict.confidence = 0.1;
    return verdict;
  }
  Ledger ledger(facts);
  for (const auto rule :
       {claim_copy_on_write, claim_processes, claim_heap, claim_files, claim_shared_memory, claim_kernel, claim_device})
    rule(facts, ledger);
  ledger.close();
  verdict.bytes = ledger.growth();
  verdict.level_bytes = static_cast<std::int64_t>(facts.total(facts.last()));
  verdict.from_s = facts.first().time_s - facts.start_s();
  verdict.to_s = facts.last().time_s - facts.start_s();
  verdict.charged = facts.own_cgroup() ? "the container's charge" : "the memory of the tree and of the files it uses";
  for (const Claim& c : ledger.claims()) verdict.parts[c.kind] += c.bytes;
  std::erase_if(verdict.parts, [](const auto& part) { return part.second == 0; });
  set_main(verdict, facts, ledger);
  set_rates(verdict, facts, options);
  verdict.confidence = confidence_of(verdict, facts);
  set_summary(verdict);
  verdict.claims = std::move(ledger.claims());
  if (timeline.agents.empty()) verdict.blind.push_back("objects and allocations: nothing inside the program was asked");
  if (!facts.own_cgroup() && facts.last().cgroup.present)
    verdict.blind.push_back(
        "the container's charge: other processes are in the same cgroup (doctor run --cgroup gives the program its "
        "own)");
  return verdict;
}

}  // namespace lowtide::doctor
