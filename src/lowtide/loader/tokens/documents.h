// Where documents begin in a stream of tokens, and what a window that spans several must carry: position ids that start again, the
// bounds of each document (cu_seqlens), and a mask over targets that belong to another document than their input.
//
//   Documents documents = Documents::from_eot(stream, 50256);       // one scan of the tokens
//   Documents documents = Documents::from_index(stream);            // Megatron's .idx, checked
//   documents.starts(begin, end);                                   // sorted stream positions in [begin, end)
//
// No document is empty, so starts ascend strictly and end before the stream does.
//
// Immutable; safe to share between threads. 8 bytes a document, under a lease (Purpose::index). Making one blocks for the disk,
// interruptible; the rest does not block.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lowtide/loader/tokens/token_stream.h"
#include "lowtide/loader/tokens/window_grid.h"
#include "lowtide/memory/block.h"

namespace lowtide {

class Documents {
 public:
  // A document ends with its EOT token; what stands after the last one is a document too. Throws BudgetError naming what the index
  // needs, and std::invalid_argument for a token that the stream's dtype cannot hold. While it scans it holds about 2 bytes a
  // document more than the index needs, so that the tokens are read once.
  static Documents from_eot(const TokenStream& stream, std::uint64_t eot);
  // Throws FormatError for a stream with shards that have no index, or an index whose numbers disagree (the message says which);
  // BudgetError before any of its arrays is read. Documents without tokens have no entry.
  static Documents from_index(const TokenStream& stream);
  // Rows of .npy files of two dimensions. Throws FormatError for a stream with shards that have none.
  static Documents from_rows(const TokenStream& stream);
  // Starts that are known already. Those of empty documents, equal to the next one or to stream_end, have no entry. Throws
  // std::invalid_argument where they descend or exceed stream_end.
  static Documents from_starts(std::span<const std::uint64_t> starts, std::uint64_t stream_end);

  std::uint64_t count() const { return count_; }
  std::uint64_t start(std::uint64_t document) const { return data_[document]; }  // REQUIRES: document < count()
  std::uint64_t end(std::uint64_t document) const {                              // one past its last token; likewise
    return document + 1 < count_ ? data_[document + 1] : stream_end_;
  }
  std::span<const std::uint64_t> starts(std::uint64_t begin, std::uint64_t end) const;
  std::uint64_t document_of(std::uint64_t token) const;  // the one that it is in; 0 for tokens before the first
  // The same documents, of which only those wholly within one of these spans are taken.
  Documents within(std::vector<TokenSpan> spans) const;
  bool taken(std::uint64_t document) const;

 private:
  std::shared_ptr<const Block> owner_;
  const std::uint64_t* data_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t stream_end_ = 0;
  std::optional<std::vector<TokenSpan>> spans_;  // ascending
};

// A batch's marks, in memory of the caller's; those not wanted are null. Row r of `positions` and `mask` has `block` entries.
struct Marks {
  std::int32_t* positions = nullptr;  // (rows, block): from 0 in each segment
  std::uint8_t* mask = nullptr;       // (rows, block): 1 where y is the token after x in the same document
  std::int32_t* cu_seqlens =
      nullptr;  // room for rows * block + 1: bounds in the flattened (rows * block) batch, 0 first
};

// Marks one window after the other; rows are given in order.
//
// A segment is what attention may see of itself: one begins with each row, with each document inside it, and with its padding. Padding
// is a segment like any other, with a mask of 0. For a block of 8 whose x is `a a b b b c . .` (valid 6, starts 2 and 5):
//
//   positions   0 1 0 1 2 0 0 1
//   mask        1 0 1 1 0 0 0 0        // 0 where the next place begins a document or is padding
//   cu_seqlens  0 2 5 6 (8)            // the last by the next row, or by finish()
//
// Not thread-safe. Never blocks, never allocates. REQUIRES: rows * block < 2^31.
class Marker {
 public:
  Marker(Marks marks, std::int64_t block) : marks_(marks), block_(block) {}
  // `starts` are the places in x, 0 to block - 1, at which a document begins, ascending; 0 need not be among them, and those in the
  // padding are ignored. The first `valid` entries of x are tokens, 0 to block; the others are padding. The target of the last place
  // is the token after the window: it counts if there is no padding and no document begins with it (`ends_at_block`).
  void row(std::span<const std::int32_t> starts, bool ends_at_block, std::int64_t valid);
  std::int64_t finish();  // once, after the last row: entries of cu_seqlens, bounds and the end
  std::int32_t longest() const { return longest_; }  // of the longest segment, padding included: attention sees it too

 private:
  void segment(std::int64_t begin, std::int64_t end);  // places in the row

  Marks marks_;
  std::int64_t block_;
  std::int64_t rows_ = 0;
  std::int64_t bounds_ = 0;
  std::int32_t longest_ = 0;
};

}  // namespace lowtide
