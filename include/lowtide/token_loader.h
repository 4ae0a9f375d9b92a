// Batches of windows of tokens for training a language model, made ahead within the budget.
//
//   lowtide::TokenLoader loader({.paths = {"train.bin"}, .block = 1024, .share = {.batch = 12}, .seed = 1337});
//   while (auto batch = loader.next()) train(batch->x.as<std::int64_t>(), batch->y.as<std::int64_t>());
//   auto random = loader.sample();        // uniformly random windows, with replacement
//   auto state = loader.state();          // a few integers; loader.load(state) goes on with the very next batch
//
// A window is block + 1 tokens: x is all but the last, y all but the first. Windows do not overlap (see `overlap`), and each is seen
// exactly once an epoch; where they begin moves from one shuffled epoch to the next, so that every token but the first is a target.
//
// Thread-safe: every member; next() and sample() by one thread at a time each, others wait. Both block for the disk, interruptible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lowtide/array.h"
#include "lowtide/loader.h"

namespace lowtide {

enum class DocumentMode : std::uint8_t {
  none,
  eot,    // a document ends with a token
  index,  // Megatron's .idx, or the rows of .npy files of two dimensions
};

// Part of the data: the first `fraction` of its tokens (train), or what follows (val); cut between documents where they are known.
struct TokenSplit {
  enum class Part : std::uint8_t { train, val };
  Part part = Part::train;
  double fraction = 1;
};

struct TokenLoaderOptions {
  std::vector<std::string> paths = {};  // files, globs, Megatron prefixes: one stream
  std::int64_t block = 1024;
  LoaderShare share = {};
  std::uint64_t seed = 0;
  bool shuffle = true;
  DType dtype = DType::int64;                    // of x and y: int64, int32 or uint16
  std::optional<DType> token_dtype = {};         // of files without a header; told from the content by default
  Endian token_endian = Endian::little;          // of a token_dtype that is given
  std::optional<std::uint64_t> vocabulary = {};  // tokens from this on are an error
  std::int64_t overlap =
      0;  // tokens that a window shares with the one before: 1 makes every token but the first a target
  DocumentMode documents = DocumentMode::none;
  std::uint64_t eot = 0;
  bool pack = false;                              // whole documents, best fit, instead of windows cut anywhere
  std::int64_t pad = 0;                           // what fills the rest of a packed window
  std::optional<std::int64_t> ignore_index = {};  // what y is where the mask is false; by default pad in padding only
  bool moving = true;                             // where windows begin differs from one shuffled epoch to the next
  std::optional<TokenSplit> split = {};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> skip = {};  // tokens, begin and end, that are left out
  bool pin = false;  // batches in memory that a GPU copies from directly, where CUDA is there
};

struct TokenBatch {
  Buffer x, y;  // (rows, block)
  // With documents:
  Buffer positions;   // (rows, block) int32, from 0 at every document
  Buffer cu_seqlens;  // (segments + 1,) int32: bounds of the documents in the flattened batch
  Buffer mask;        // (rows, block) bool: y belongs to the same document as x
  std::int64_t longest_segment = 0;
};

// Where a part of a batch's row comes from.
struct TokenOrigin {
  std::uint64_t row = 0;
  std::string path;
  std::uint64_t offset = 0;                    // bytes in the file
  std::uint64_t count = 0;                     // tokens
  std::uint64_t token = 0;                     // the first of them, in the stream of all files
  std::optional<std::uint64_t> document = {};  // it belongs to, where they are numbered
};

struct TokenLoaderState {
  std::uint64_t seed = 0;
  std::uint64_t position = 0;  // samples taken from the stream, by all ranks together
  bool loop_ended = false;
  std::uint64_t sampled = 0;  // the same of sample()
  std::uint64_t samples_per_epoch = 0;
  std::string options;  // what the stream of samples depends on beside the data: "block=1024 overlap=0 …"
  DataFingerprint data;
};

struct PackingReport {
  std::uint64_t document_count = 0, cut_count = 0, window_count = 0;
  double waste = 0;  // share of the tokens of all windows that is padding
};

class TokenLoaderImpl;

class TokenLoader {
 public:
  explicit TokenLoader(const TokenLoaderOptions& options);
  TokenLoader(TokenLoader&&) noexcept;
  TokenLoader& operator=(TokenLoader&&) noexcept;
  ~TokenLoader();

  std::optional<TokenBatch> next();  // nothing at the end of a loop; the call after that begins the next
  // A new loop: goes on where the last one stopped, and behind its end if all its batches were taken.
  void begin_loop();
  std::optional<std::uint64_t> batches_left() const;  // of this loop; nothing if it never ends
  std::optional<std::uint64_t> batches_a_loop() const;
  TokenBatch sample();

  // The state behind the last batch of next(), or `ahead` batches further on.
  TokenLoaderState state(std::uint64_t ahead = 0) const;
  // Throws DataChangedError, naming the file, if the data is not the same.
  void load(const TokenLoaderState& state);
  StreamPlace place() const;
  void seek(const StreamPlace& place);  // of next(), whatever the data
  // What the batch of a step is made of, counted from the beginning of the stream with the share as it is now.
  std::vector<TokenOrigin> where(std::uint64_t step) const;
  void set_share(const LoaderShare& share);  // from here on
  void stop();                               // gives all memory back; the next batch starts again

  std::uint64_t tokens() const;
  DType token_dtype() const;
  std::string name() const;  // of the data, for people
  std::vector<std::string> files() const;
  std::uint64_t samples_per_epoch() const;  // windows
  std::optional<PackingReport> packing() const;
  LoaderStats stats() const;  // of next() and sample() together
  TokenLoaderOptions options() const;

 private:
  std::unique_ptr<TokenLoaderImpl> impl_;
};

}  // namespace lowtide
