// Private memory of each process, by what the process says of its own heaps: freed but kept, unreachable, reachable, native.
#include <fmt/format.h>

#include <algorithm>

#include "lowtide/base/units.h"
#include "lowtide/doctor/rule/ledger.h"

namespace lowtide::doctor {
namespace {

using Value = std::optional<double>;

Value when(bool known, std::uint64_t value) { return known ? Value(static_cast<double>(value)) : std::nullopt; }

std::string words(double bytes) { return format_bytes(static_cast<std::uint64_t>(std::max(0.0, bytes))); }

// One process's growth while claims are taken from it.
class Heap {
 public:
  Heap(const Case& facts, Ledger& ledger, const Change& change)
      : facts_(facts),
        ledger_(ledger),
        change_(change),
        left_(std::max<std::int64_t>(0, change.anon())),
        growing_(facts.in_use_grows(change.pid)) {}

  void claim() {
    claim_lowtide();
    claim_held();
    claim_garbage();
    claim_objects();
    claim_native();
    claim_rest();
  }

 private:
  double grew(const Case::Field& field) const { return std::max(0.0, facts_.grew(change_, field).value_or(0)); }
  // A census is rare: what it saw of an allocator's growth stands for all of that growth.
  double counted_growth(const Case::Field& census, const Case::Field& live) const {
    const auto span = facts_.census_span(change_.pid);
    const auto live_before = span ? facts_.said(change_.pid, span->first, live) : std::nullopt;
    const auto live_after = span ? facts_.said(change_.pid, span->second, live) : std::nullopt;
    if (!live_before || !live_after || *live_after - *live_before < static_cast<double>(1_MiB)) return grew(census);
    const double seen = facts_.said(change_.pid, span->second, census).value_or(0) -
                        facts_.said(change_.pid, span->first, census).value_or(0);
    const double share = std::clamp(seen / (*live_after - *live_before), 0.0, 1.0);
    return std::max(grew(census), share * grew(live));
  }
  double changed(const Case::Field& field) const { return facts_.grew(change_, field).value_or(0); }

  std::int64_t take(Claim claim) {
    claim.bytes = std::min(claim.bytes, left_);
    const std::int64_t got = ledger_.take(Pool::anon, std::move(claim));
    left_ -= got;
    return got;
  }

  void claim_lowtide() {
    const double held =
        grew([](const AgentSample& a) { return when(a.python && a.lowtide_limit > 0, a.lowtide_held); });
    const AgentSample* said = facts_.last_census(change_.pid);
    const std::string limit =
        said != nullptr && said->lowtide_limit > 0 ? ", at most " + format_bytes(said->lowtide_limit) : "";
    lowtide_ = take({"warm_up", static_cast<std::int64_t>(held), "lowtide's own budget" + limit, false, "", {}});
  }

  void claim_held() {
    const double held = grew([](const AgentSample& a) { return when(a.has_malloc, a.malloc_held); });
    const double pool = grew([](const AgentSample& a) { return when(a.python, a.pool_held); });
    const double lazy =
        std::max(0.0, static_cast<double>(change_.after.lazy_free) - static_cast<double>(change_.before.lazy_free));
    const auto blocks =
        facts_.grew(change_, [](const AgentSample& a) { return when(a.python && a.blocks > 0, a.blocks); });
    Claim claim{"allocator",
                static_cast<std::int64_t>(held),
                "freed by the program, kept by malloc",
                growing_,
                change_.after.name,
                {}};
    if (held > 0)
      claim.evidence.push_back(
          fmt::format("malloc keeps {} more of freed memory than at first (mallinfo2 fordblks)", words(held)));
    const auto arenas = facts_.said(change_.pid, facts_.last().time_s,
                                    [](const AgentSample& a) { return when(a.arenas > 0, a.arenas); });
    if (arenas && *arenas >= 4) claim.evidence.push_back(fmt::format("in {:.0f} arenas: threads", *arenas));
    take(std::move(claim));
    take({"allocator",
          static_cast<std::int64_t>(pool),
          "freed, kept by a library's own memory pool",
          growing_,
          change_.after.name,
          {fmt::format("a library's pool holds {} more than is in use (its own counters)", words(pool))}});
    take({"allocator",
          static_cast<std::int64_t>(lazy),
          "freed with MADV_FREE: the kernel takes it when it needs it",
          false,
          change_.after.name,
          {fmt::format("LazyFree grew by {}", words(lazy))}});
    if (blocks && *blocks < 0) blocks_fell_ = true;
  }

  void claim_garbage() {
    const AgentSample* probe = facts_.gc_probe(change_.pid);
    if (probe == nullptr || probe->garbage < 1_MiB) return;
    Claim claim{"garbage", static_cast<std::int64_t>(probe->garbage), "unreachable cycles, not collected", growing_, "",
                {}};
    claim.evidence.push_back(fmt::format("gc.collect() gave back {}{}", format_bytes(probe->garbage),
                                         probe->gc_enabled ? "" : "; gc is disabled"));
    if (!probe->holders.empty()) claim.where = probe->holders.front().where;
    garbage_ = take(std::move(claim));
  }

  // Small objects that live, of what the interpreter's arenas grew by; the rest was freed and stays in arenas that others pin.
  double claim_python_arenas(double arenas, double counted) {
    if (arenas == 0) return blocks_fell_ ? 0 : std::max(0.0, counted);
    const double blocks = changed([](const AgentSample& a) { return when(a.python && a.blocks > 0, a.blocks); });
    const double live = std::clamp(std::max(counted, 48 * blocks), 0.0, arenas);
    if (live > 0.7 * arenas) return arenas;
    take({"allocator",
          static_cast<std::int64_t>(arenas - live),
          "freed by Python, kept in its arenas",
          growing_,
          change_.after.name,
          {fmt::format("Python's arenas grew by {} and hold {} of objects: small ones that live on pin them",
                       words(arenas), words(live))}});
    return live;
  }

  // Bytes that Python can reach: arrays and tensors by storage, then small objects by the interpreter's own arenas or by count.
  void claim_objects() {
    const double arrays =
        counted_growth([](const AgentSample& a) { return when(a.has_census, a.array_bytes); },
                       [](const AgentSample& a) { return when(a.has_malloc, a.malloc_live + a.malloc_mmapped); });
    const double arenas = grew([](const AgentSample& a) { return when(a.pymalloc > 0, a.pymalloc); });
    const double counted = counted_growth([](const AgentSample& a) { return when(a.has_census, a.object_bytes); },
                                          [](const AgentSample& a) { return when(a.pymalloc > 0, a.pymalloc); });
    const double small = claim_python_arenas(arenas, counted);
    const double live = std::max(0.0, arrays + small - static_cast<double>(garbage_ + lowtide_));
    const AgentSample* census = facts_.last_census(change_.pid);
    graph_ = census != nullptr && !census->holders.empty() && census->holders.front().note == "autograd graph";
    Claim claim{growing_ ? "objects" : "warm_up",
                static_cast<std::int64_t>(live),
                "live objects that Python reaches",
                growing_,
                "",
                {}};
    if (census != nullptr) {
      for (const Holder& h : census->holders) {
        if (h.bytes == 0 && h.note.empty()) continue;
        if (claim.where.empty()) claim.where = h.where;
        claim.evidence.push_back(fmt::format("+{} {} ({}){}{}", h.count, h.type, format_bytes(h.bytes),
                                             h.where.empty() ? "" : ": " + h.where,
                                             h.note.empty() ? "" : ", " + h.note));
        if (claim.evidence.size() >= 4) break;
      }
    }
    objects_where_ = claim.where;
    objects_evidence_ = claim.evidence;
    objects_ = take(std::move(claim));
  }

  void claim_native() {
    const double live = changed([](const AgentSample& a) { return when(a.has_malloc, a.malloc_live); }) +
                        changed([](const AgentSample& a) { return when(a.has_malloc, a.malloc_mmapped); }) +
                        grew([](const AgentSample& a) { return when(a.python, a.pool_live); });
    const double native = live - static_cast<double>(objects_ + garbage_ + lowtide_);
    if (native <= 0) return;
    // The nodes of a kept graph are native memory that a Python reference holds.
    const bool of_objects = graph_;
    Claim claim{growing_ ? (of_objects ? "objects" : "native") : "warm_up",
                static_cast<std::int64_t>(native),
                of_objects ? "autograd graphs that live tensors keep" : "live native memory without a Python owner",
                growing_,
                of_objects ? objects_where_ : "",
                of_objects ? objects_evidence_ : std::vector<std::string>{}};
    if (const AgentSample* sampled = facts_.last_stacks(change_.pid); sampled != nullptr && !of_objects) {
      for (const LiveStack& stack : sampled->stacks) {
        if (stack.frames.empty()) continue;
        if (claim.where.empty()) claim.where = stack.frames.front();
        std::string line = fmt::format("{} live, allocated by {}", format_bytes(stack.bytes), stack.frames.front());
        for (std::size_t i = 1; i < std::min<std::size_t>(stack.frames.size(), 4); ++i) line += " ← " + stack.frames[i];
        claim.evidence.push_back(std::move(line));
        if (claim.evidence.size() >= 3) break;
      }
    }
    if (!of_objects)
      claim.evidence.push_back(fmt::format("malloc has {} more in use than at first (mallinfo2)", words(live)));
    take(std::move(claim));
  }

  void claim_rest() {
    if (left_ < static_cast<std::int64_t>(1_MiB)) return;
    const bool spoke =
        facts_.said(change_.pid, facts_.last().time_s, [](const AgentSample& a) { return when(a.has_malloc, 1); })
            .has_value();
    if (spoke && blocks_fell_) {
      take(
          {"allocator",
           left_,
           "freed by Python, kept in its arenas",
           growing_,
           change_.after.name,
           {"Python has fewer blocks in use than at first, and its arenas stay: small objects that live on pin them"}});
      return;
    }
    const double address_space = static_cast<double>(change_.after.mapped) - static_cast<double>(change_.before.mapped);
    const bool touched = address_space < 0.5 * static_cast<double>(left_);
    if (!growing_ || touched) {
      take({"warm_up", left_, touched ? "allocated before, touched now" : "private memory that stopped growing", false,
            "",
            touched ? std::vector<std::string>{"the address space hardly grew: memory that was allocated before is "
                                               "written to for the first time"}
                    : std::vector<std::string>{}});
      return;
    }
    // Without a word from inside, a heap that grows steadily is all that can be said.
    if (!spoke) take({"unexplained", left_, "private memory, seen from outside only", true, change_.after.name, {}});
  }

  const Case& facts_;
  Ledger& ledger_;
  const Change& change_;
  std::int64_t left_, lowtide_ = 0, garbage_ = 0, objects_ = 0;
  bool growing_, blocks_fell_ = false, graph_ = false;
  std::string objects_where_;
  std::vector<std::string> objects_evidence_;
};

}  // namespace

void claim_heap(const Case& facts, Ledger& ledger) {
  std::vector<const Change*> largest;
  for (const Change& change : facts.changes()) {
    // What came and does not grow by itself is counted with the processes.
    if (!change.gone && (!change.born || facts.trend_of_anon(change.pid).growing)) largest.push_back(&change);
  }
  std::sort(largest.begin(), largest.end(), [](const Change* a, const Change* b) { return a->anon() > b->anon(); });
  for (const Change* change : largest) Heap(facts, ledger, *change).claim();
}

}  // namespace lowtide::doctor
