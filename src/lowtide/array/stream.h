// Consecutive rows, block after block, read ahead of the consumer within the budget.
//
//   RowStream stream(source, selection, /*rows=*/0);
//   for (RowBlock b; stream.next(b);) …
//
// Contiguous rows of one file are read straight into the blocks that are handed out, several blocks ahead, on one queue and no extra thread.
// Blocks that the consumer has dropped are used again. Any other selection of any source is read block by block.
//
// An error comes where its rows would have come. The stream stays there: the next call tries them again.
//
// next() by one thread at a time, others wait. Blocks for the disk, interruptible.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lowtide/array.h"
#include "lowtide/base/fork.h"
#include "lowtide/base/turn.h"
#include "lowtide/memory/for_speed.h"
#include "lowtide/memory/spare_blocks.h"
#include "lowtide/source/file_source.h"
#include "lowtide/transfer/range.h"

namespace lowtide {

// Blocks dropped by the consumer, waiting to be filled again. Shared with every Buffer handed out.
class RecycledBlocks {
 public:
  RecycledBlocks();
  void lend();  // one goes to the consumer
  void come_back(Block block) noexcept;
  void keep(Block block) noexcept;  // one that was never lent
  Block take();
  std::size_t count() const;  // here and with the consumer
  void close() noexcept;

 private:
  mutable ForkMutex mutex_{ForkRank::recycled_blocks};
  std::vector<Block> blocks_;
  std::size_t lent_ = 0;
  bool closed_ = false;
};

class RowStream {
 public:
  // rows 0: chosen from what the budget has to spare. Throws BudgetError if not even one block fits. `beside_bytes` are admitted
  // with it, for what the consumer cannot do without.
  RowStream(std::shared_ptr<const Source> source, Selection selection, std::int64_t rows,
            std::uint64_t beside_bytes = 0);
  ~RowStream();
  RowStream(const RowStream&) = delete;
  RowStream& operator=(const RowStream&) = delete;

  bool next(RowBlock& out);
  std::int64_t rows_per_block() const { return rows_; }
  Lease take_beside() { return std::move(beside_); }  // once

  // The smallest budget in which rows of this selection can be streamed one at a time.
  static std::uint64_t least_bytes(const Source& source, const Selection& selection);

 private:
  struct Ahead {
    std::int64_t begin = 0, end = 0;
    Block block;
    std::uint64_t offset = 0, bytes = 0;  // in the file
    std::size_t outstanding = 0;          // moves
    int error = 0;                        // of the first of them that failed, told when its rows are next
    std::uint32_t got_bytes = 0;          // by that one
  };
  io::File& file() const { return source_->in_one_file()->file(); }  // REQUIRES: range_
  std::uint64_t block_bytes(std::int64_t rows) const;
  std::int64_t choose_rows() const;
  void start_next(Block block);
  void ask_for(Ahead& ahead, std::uint64_t number);
  void start_waiting();
  void arrived(const Arrival& arrival);
  [[noreturn]] void fail_first();
  std::optional<Block> spare_block();
  void after_fork();
  Block block_to_fill();
  RowBlock hand_out(Block block, std::byte* data, std::int64_t begin, std::int64_t end);
  bool next_of_any(RowBlock& out);
  void read_rows(std::int64_t begin, std::int64_t end, std::byte* memory);
  std::uint64_t give_back(std::uint64_t bytes);

  std::shared_ptr<const Source> source_;
  Selection selection_;
  std::optional<io::File::Pin> pin_;
  std::optional<ByteMap> range_;  // where the rows follow each other in one file
  std::int64_t row_count_;
  std::int64_t row_size_;  // elements
  std::uint64_t row_bytes_;
  std::int64_t rows_;
  std::int64_t started_ = 0;        // rows whose reading has begun
  std::uint64_t first_number_ = 0;  // of ahead_.front(), counted from the first block
  std::size_t ahead_limit_ = 1;
  std::shared_ptr<RecycledBlocks> recycled_ = std::make_shared<RecycledBlocks>();
  Lease in_flight_;
  Lease beside_;
  Block admitted_;  // the block that admission paid for
  std::deque<Ahead> ahead_;
  std::deque<Move> waiting_;  // that the driver has no room for yet
  Pace pace_;
  std::optional<Workspace> workspace_;  // for all others
  std::unique_ptr<RowReader> reader_;   // of a source that has one, from row started_ on
  Turn turn_;
  MadeHere made_;
  std::size_t least_blocks_ = 1;  // that it was admitted with; the others are for speed
  std::optional<Driver> driver_;
  ForSpeed for_speed_{[this](std::uint64_t bytes) { return give_back(bytes); }};
};

}  // namespace lowtide
