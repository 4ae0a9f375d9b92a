#include "lowtide/loader/tokens/window_grid.h"

#include <algorithm>

#include "lowtide/permutation.h"

namespace lowtide {
namespace {

constexpr std::uint64_t phase_key = 0x8EBC6AF09C88C6E3u;  // phases are drawn by other keys than samples

}  // namespace

WindowGrid::WindowGrid(const std::vector<TokenSpan>& spans, const GridOptions& options) : options_(options) {
  for (const TokenSpan& span : spans) {
    if (span.count() < options.window) continue;
    parts_.push_back({span, count_});
    count_ += (span.count() - options.window) / options.stride + 1;
  }
}

std::uint64_t WindowGrid::phase(std::uint64_t epoch) const {
  const std::uint64_t places = options_.stride;
  if (!options_.moving_seed || places < 2) return 0;
  const Permutation order(places, *options_.moving_seed ^ phase_key);
  return (order(epoch % places) + places - order(0)) % places;
}

std::uint64_t WindowGrid::begin(std::uint64_t sample, std::uint64_t phase) const {
  const auto after = std::upper_bound(parts_.begin(), parts_.end(), sample,
                                      [](std::uint64_t wanted, const Part& part) { return wanted < part.first; });
  const Part& part = *std::prev(after);
  return std::min(part.span.begin + phase + (sample - part.first) * options_.stride, part.span.end - options_.window);
}

std::vector<TokenSpan> without(std::vector<TokenSpan> spans, const std::vector<TokenSpan>& holes) {
  for (const TokenSpan& hole : holes) {
    if (hole.count() == 0) continue;
    std::vector<TokenSpan> left;
    for (const TokenSpan& span : spans) {
      const TokenSpan before{span.begin, std::min(span.end, hole.begin)},
          behind{std::max(span.begin, hole.end), span.end};
      if (before.begin < before.end) left.push_back(before);
      if (behind.begin < behind.end) left.push_back(behind);
    }
    spans = std::move(left);
  }
  return spans;
}

}  // namespace lowtide
