// Token files, however many and of whatever format, as one sequence of tokens.
//
//   TokenStream stream = TokenStream::open({"shards/*.bin"}, {});
//   stream.size();                                   // tokens
//   stream.pieces(begin, end, [](const TokenPiece& p) { … });   // where they are: one piece for each shard they touch
//
// Immutable; safe to share between threads. Holds no token; its index of documents, where one is asked for, is leased.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/formats/layout.h"
#include "lowtide/io/file.h"

namespace lowtide {

// What is said of files without a header.
struct BareTokens {
  std::optional<DType> dtype = {};  // otherwise told from the content
  Endian endian = Endian::little;   // of a dtype that was given
  std::optional<std::uint64_t> vocabulary = {};
};

struct Shard {
  std::shared_ptr<io::File> file;
  Layout layout;            // one-dimensional; format "raw", "npy", "llm.c", "litpkds" or "megatron"
  std::uint64_t first = 0;  // of its tokens, in the stream
  std::uint64_t count = 0;
  std::shared_ptr<io::File> index = {};  // Megatron's .idx
  std::uint64_t row_tokens = 0;          // of an array of two dimensions: its rows are documents
  bool guessed = false;                  // nothing but the content says the dtype
  bool undecided = false;                // and not even that
};

struct TokenPiece {
  std::size_t shard = 0;
  std::uint64_t offset = 0;  // bytes in the file
  std::uint64_t count = 0;   // tokens
  std::uint64_t at = 0;      // tokens from the beginning of the range asked for
};

class TokenStream {
 public:
  // A path may be a glob (*, ?, [), which stands for its matches in alphabetical order, or the prefix or either file of a Megatron
  // pair. Throws FormatError (shards of different dtypes, no token at all, …), IoError (ENOENT: nothing matches).
  static TokenStream open(const std::vector<std::string>& paths, const BareTokens& bare);

  std::uint64_t size() const { return size_; }
  DType dtype() const { return shards_.front().layout.dtype; }     // one for all shards
  Endian endian() const { return shards_.front().layout.endian; }  // likewise
  bool guessed() const {  // of one shard at least only the content says the dtype
    return std::any_of(shards_.begin(), shards_.end(), [](const Shard& shard) { return shard.guessed; });
  }
  const std::vector<Shard>& shards() const { return shards_; }
  std::string name() const;  // for messages: the file, or "shard_000.bin and 41 more"

  // Calls back for every shard that [begin, end) touches, in order. REQUIRES: begin <= end <= size().
  template <class Callback>
  void pieces(std::uint64_t begin, std::uint64_t end, Callback callback) const {
    if (begin == end) return;
    std::uint64_t at = begin;
    for (std::size_t i = shard_of(begin); at < end; ++i) {
      const Shard& shard = shards_[i];
      const std::uint64_t stop = std::min(end, shard.first + shard.count);
      if (stop <= at) continue;
      const std::uint64_t item = itemsize(shard.layout.dtype);
      callback(TokenPiece{i, shard.layout.data_offset + (at - shard.first) * item, stop - at, at - begin});
      at = stop;
    }
  }
  std::size_t shard_of(std::uint64_t token) const;  // REQUIRES: token < size()

 private:
  std::vector<Shard> shards_;
  std::uint64_t size_ = 0;
};

}  // namespace lowtide
