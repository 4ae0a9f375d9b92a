// Whole documents packed into windows of a fixed length, best fit first, so that few are cut and little is padding.
//
//   Packing packing(documents, capacity);
//   for (const PackedDocument& d : packing.window(w)) …      // stream range, in the order in which they stand in the window
//   packing.waste();                                          // share of the windows that is padding
//
// A document longer than a window is cut into full windows and a rest, which is packed like a document of its own. Documents are packed
// in groups of neighbours, longest first, each into the window of its group that it fills best. Windows of a group are in the order of
// their first tokens in the stream, and so are the documents of a window. The result depends on nothing but the documents and the capacity.
//
// Every token is in one window, once, except for documents and rests of a single token, which are left out: nothing follows in the
// same document, so there is no target to learn from them.
//
// Immutable; safe to share between threads. The plan is held under a lease (Purpose::index): 16 bytes a document and 8 a window. Making
// one is interruptible and holds at most 6 MiB more; the rest does not block.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lowtide/loader/tokens/documents.h"

namespace lowtide {

struct PackedDocument {
  std::uint64_t begin = 0;  // in the stream
  std::uint32_t count = 0;  // tokens
};

class Packing {
 public:
  // Throws BudgetError naming what the plan needs, std::invalid_argument for a capacity below 2.
  Packing(const Documents& documents, std::uint32_t capacity);

  std::uint64_t window_count() const { return window_count_; }
  std::span<const PackedDocument> window(std::uint64_t index) const {  // REQUIRES: index < window_count()
    return {pieces_ + first_[index], pieces_ + first_[index + 1]};
  }
  std::uint64_t cut_count() const { return cut_count_; }          // documents longer than a window
  std::uint64_t dropped_count() const { return dropped_count_; }  // tokens left out
  double waste() const;                                           // padding tokens / all tokens of the windows

 private:
  std::shared_ptr<const Block> owner_;
  const PackedDocument* pieces_ = nullptr;
  const std::uint64_t* first_ = nullptr;  // of a window's pieces; window_count_ + 1 entries
  std::uint64_t window_count_ = 0;
  std::uint64_t cut_count_ = 0;
  std::uint64_t dropped_count_ = 0;
  std::uint64_t token_count_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace lowtide
