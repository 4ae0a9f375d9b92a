// Windows of a token stream, widened into the x and y of a batch as they arrive; with documents, their marks.
//
//   auto maker = std::make_shared<TokenBatches>(source, grid, sampler, format);
//   TokenBatch batch = maker->unpack(delivery);
//
// Sample s of the sampler is window s of the grid, or, with a packing, its s-th.
//
// A maker is used by one thread at a time; unpack() by any.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/loader/order/sampler.h"
#include "lowtide/loader/prefetch/batch.h"
#include "lowtide/loader/prefetch/prefetch.h"
#include "lowtide/loader/tokens/documents.h"
#include "lowtide/loader/tokens/packing.h"
#include "lowtide/loader/tokens/token_stream.h"
#include "lowtide/token_loader.h"

namespace lowtide {

// What all batches of a loader are cut from.
struct TokenSource {
  TokenStream stream;
  std::optional<Documents> documents;  // where an index of them is needed
  std::optional<Packing> packing;
  std::vector<TokenSpan> spans;  // of the stream, that windows are cut from
};

struct TokenFormat {
  std::uint64_t block = 0, batch = 0;
  DType dtype = DType::int64;
  std::optional<std::uint64_t> vocabulary = {};
  bool marks = false;
  std::optional<std::uint64_t> eot = {};  // marks are found in the window itself
  std::int64_t pad = 0;
  std::optional<std::int64_t> ignore_index = {};
  bool pin = false;
};

class TokenBatches final : public BatchMaker {
 public:
  TokenBatches(std::shared_ptr<const TokenSource> source, const WindowGrid& grid, const Sampler& sampler,
               const TokenFormat& format);

  const MakerTraits& traits() const override { return traits_; }
  std::uint64_t plan(Batch& batch) override;
  void place(Batch& batch, const Piece& piece, std::uint64_t at, std::span<const std::byte> bytes) override;
  void finish(Batch& batch) override;

  TokenBatch unpack(const Delivery& delivery) const;
  std::vector<TokenOrigin> origins(const Step& step) const;  // thread-safe

 private:
  // Where a batch's arrays are in its block.
  struct Places {
    std::uint64_t x = 0, y = 0, positions = 0, mask = 0, cu_seqlens = 0, bytes = 0;
  };
  // The phase of the epoch that the last row was of: the next one mostly is, too.
  struct Phase {
    std::uint64_t epoch = UINT64_MAX, tokens = 0;
  };
  std::uint64_t window_begin(const Batch& batch, std::uint64_t row, Phase& phase) const;
  void add_pieces(Batch& batch) const;
  void add_window(Batch& batch, std::uint64_t row, std::uint64_t begin, std::uint64_t count, std::uint64_t at) const;
  void check_range(const Batch& batch, const Piece& piece, std::uint64_t at, const std::byte* tokens,
                   std::uint64_t count) const;
  std::string range_text(std::uint64_t greatest) const;  // what was expected, for an error
  bool in_range(std::int64_t least, std::uint64_t greatest) const;
  void pad_row(Batch& batch, std::uint64_t row, std::uint64_t count) const;
  void ignore_masked(Batch& batch) const;
  // Fills `starts`; true if a document begins at the last target.
  bool row_starts(const Batch& batch, std::uint64_t row, Phase& phase, std::vector<std::int32_t>& starts) const;

  std::shared_ptr<const TokenSource> source_;
  WindowGrid grid_;
  Sampler sampler_;
  TokenFormat format_;
  Places places_;
  MakerTraits traits_;
  std::uint64_t limit_ = 0;  // the first token that x and y cannot hold, or that is not in the vocabulary
};

}  // namespace lowtide
