// Pages of files: in the maps of the tree, or in the page cache alone. The kernel takes both back when it needs memory.
#include <fmt/format.h>

#include <algorithm>

#include "lowtide/base/units.h"
#include "lowtide/doctor/rule/ledger.h"

namespace lowtide::doctor {
namespace {

const FileSample* find(const Sample& sample, const std::string& path) {
  const auto at =
      std::find_if(sample.files.begin(), sample.files.end(), [&](const FileSample& f) { return f.path == path; });
  return at == sample.files.end() ? nullptr : &*at;
}

struct Grown {
  std::string path;
  std::int64_t bytes = 0;
};

template <class Bytes>
std::vector<Grown> grown(const Case& facts, Bytes bytes_of) {
  std::vector<Grown> files;
  for (const FileSample& f : facts.last().files) {
    const FileSample* before = find(facts.first(), f.path);
    const std::int64_t bytes = bytes_of(f) - (before == nullptr ? 0 : bytes_of(*before));
    if (bytes > 0) files.push_back({f.path, bytes});
  }
  std::sort(files.begin(), files.end(), [](const Grown& a, const Grown& b) { return a.bytes > b.bytes; });
  return files;
}

void describe(Claim& claim, const std::vector<Grown>& files, const char* what) {
  for (std::size_t i = 0; i < std::min<std::size_t>(files.size(), 3); ++i)
    claim.evidence.push_back(
        fmt::format("{} of {} {}", format_bytes(static_cast<std::uint64_t>(files[i].bytes)), files[i].path, what));
  if (!files.empty()) claim.where = files.front().path;
}

}  // namespace

void claim_files(const Case& facts, Ledger& ledger) {
  const auto mapped_of = [](const Sample& s) {
    std::int64_t bytes = 0;
    for (const ProcessSample& p : s.processes) bytes += static_cast<std::int64_t>(p.pss_file);
    return bytes;
  };
  const auto growing = facts.trend([&](const Sample& s) { return static_cast<double>(mapped_of(s)); }).growing;
  Claim mapped{
      "mapped_files", mapped_of(facts.last()) - mapped_of(facts.first()), "pages of mapped files", growing, "", {}};
  describe(mapped, grown(facts, [](const FileSample& f) { return static_cast<std::int64_t>(f.mapped); }),
           "is mapped and in memory");
  ledger.take(Pool::file, std::move(mapped));
  if (ledger.left(Pool::file) <= 0) return;
  Claim cache{"page_cache", ledger.left(Pool::file), "files' pages in the page cache, in no process", false, "", {}};
  describe(
      cache,
      grown(facts,
            [](const FileSample& f) { return static_cast<std::int64_t>(f.cached - std::min(f.cached, f.mapped)); }),
      "is in the page cache and in no process");
  ledger.take(Pool::file, std::move(cache));
}

}  // namespace lowtide::doctor
