// Where the windows of an epoch begin: every `stride` tokens in ranges of a stream, from a place that moves with the epoch.
//
//   WindowGrid grid({{0, tokens}}, {.window = 1025, .stride = 1025, .moving_seed = seed});
//   grid.count();                             // windows, the same in every epoch
//   grid.begin(sample, grid.phase(epoch));    // of one of them, in the stream
//
// The first token of a window is no target; where windows always began at the same places, those tokens would never be one. A grid that
// moves begins the first epoch at the first token and every other one elsewhere, all places in turn in as many epochs as the stride
// has tokens. What sticks out at the end of a range is moved back into it, so that the last window may overlap the one before.
//
// Immutable; thread-safe: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lowtide {

// Tokens of a stream.
struct TokenSpan {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t count() const { return end - begin; }
};

struct GridOptions {
  std::uint64_t window = 0, stride = 0;
  std::optional<std::uint64_t> moving_seed = {};  // without, the grid stays
};

class WindowGrid {
 public:
  // Spans shorter than a window have none.
  WindowGrid(const std::vector<TokenSpan>& spans, const GridOptions& options);

  std::uint64_t count() const { return count_; }
  std::uint64_t phase(std::uint64_t epoch) const;
  std::uint64_t begin(std::uint64_t sample, std::uint64_t phase) const;  // REQUIRES: sample < count()

 private:
  struct Part {
    TokenSpan span;
    std::uint64_t first = 0;  // of its windows
  };
  GridOptions options_;
  std::vector<Part> parts_;
  std::uint64_t count_ = 0;
};

// Ascending spans less those in `holes`, which may be in any order and overlap.
std::vector<TokenSpan> without(std::vector<TokenSpan> spans, const std::vector<TokenSpan>& holes);

}  // namespace lowtide
