// A batch while it is made, and the one who knows what goes into it.
//
// The prefetcher asks a maker what a step needs, brings the bytes, and hands them to the maker piece by piece, in any order:
//
//   std::uint64_t bytes = maker.plan(batch);          // batch.pieces is filled; `bytes` of memory will be needed
//   maker.place(batch, piece, 0, bytes_of_piece);     // for every piece, whole or in parts
//   maker.finish(batch);                              // all of them are there
//
// A maker is used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lowtide/io/file.h"
#include "lowtide/loader/order/schedule.h"
#include "lowtide/memory/block.h"

namespace lowtide {

// A range of a file that a batch needs.
struct Piece {
  io::File* file = nullptr;
  std::uint64_t offset = 0, bytes = 0;
  std::uint64_t tag = 0;  // the maker's own
};

struct Batch {
  Step step;
  Block block;
  std::vector<std::uint64_t> samples;  // of this step, in order
  std::vector<Piece> pieces;
  std::vector<std::int64_t> notes;  // what the maker has to say of the batch, for whoever unpacks it
};

// What the lists of a batch take while it is made and read: a part of its block that nobody touches pays for them. Those of small
// batches are within what the library takes anyway.
inline std::uint64_t list_bytes(std::uint64_t sample_count, std::uint64_t piece_count) {
  constexpr std::uint64_t unit = 64 << 10, part_bytes = 40;  // a piece becomes a part of a read
  const std::uint64_t bytes = sample_count * sizeof(std::uint64_t) + piece_count * (sizeof(Piece) + part_bytes);
  return bytes < unit ? 0 : round_up(bytes, unit);
}

struct MakerTraits {
  std::string what;               // for messages: "batches of 12 x 1024 tokens of train.bin"
  std::uint64_t batch_bytes = 0;  // memory of a full batch, or of a usual one where they differ
  std::uint64_t read_bytes = 0;   // a usual piece, or neighbours that are worth one read
  std::size_t file_count = 1;
  io::Mode mode = io::Mode::buffered;  // of a queue that serves all its files
  std::size_t most_ahead = 64;         // batches made before they are asked for, however small
  bool pin = false;                    // memory that a GPU copies from directly, where CUDA is there
};

class BatchMaker {
 public:
  virtual ~BatchMaker() = default;
  virtual const MakerTraits& traits() const = 0;
  // Fills samples and pieces; returns the bytes of memory that the batch needs.
  virtual std::uint64_t plan(Batch& batch) = 0;
  // `at`: bytes from the beginning of the piece, a multiple of 64.
  virtual void place(Batch& batch, const Piece& piece, std::uint64_t at, std::span<const std::byte> bytes) = 0;
  virtual void finish(Batch& batch) = 0;
};

// The mode of a queue for files that need not agree: the ring if all of them are read through it, else a pool of threads.
io::Mode common_mode(std::span<const std::shared_ptr<io::File>> files);

}  // namespace lowtide
