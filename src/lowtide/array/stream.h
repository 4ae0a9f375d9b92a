// Consecutive rows, block after block, read ahead of the consumer within the budget.
//
//   RowStream stream(source, selection, /*rows=*/0);
//   for (RowBlock b; stream.next(b);) …
//
// A contiguous selection is read straight into the blocks that are handed out, several blocks ahead, on one queue and no extra thread.
// Blocks that the consumer has dropped are used again. Any other selection is gathered block by block.
//
// An error comes where its rows would have come. The stream stays there: the next call tries them again.
//
// Not thread-safe; may move between threads. Blocks for the disk, interruptible.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "lowtide/array.h"
#include "lowtide/array/range.h"
#include "lowtide/array/source.h"
#include "lowtide/io/queue.h"
#include "lowtide/memory/spare_blocks.h"

namespace lowtide {

// Blocks dropped by the consumer, waiting to be filled again. Shared with every Buffer handed out.
class RecycledBlocks {
 public:
  void give(Block block) noexcept;
  Block take();
  void close() noexcept;

 private:
  std::mutex mutex_;
  std::vector<Block> blocks_;
  bool closed_ = false;
};

class RowStream {
 public:
  // rows 0: chosen from what the budget has to spare. Throws BudgetError if not even one block fits. `beside_bytes` are admitted
  // with it, for what the consumer cannot do without.
  RowStream(Source source, Selection selection, std::int64_t rows, std::uint64_t beside_bytes = 0);
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
    std::size_t outstanding = 0;
    io::Completion failed;  // the first of its requests that was, told when its rows are next
  };
  std::uint64_t block_bytes(std::int64_t rows) const;
  std::int64_t choose_rows() const;
  void start_next(Block block);
  void ask_for(Ahead& ahead, std::uint64_t number);
  void push_waiting();
  void settle(std::span<const io::Completion> completions);
  [[noreturn]] void fail_first();
  std::optional<Block> spare_block();
  void after_fork();
  Block block_to_fill();
  RowBlock hand_out(Block block, std::byte* data, std::int64_t begin, std::int64_t end);
  bool next_gathered(RowBlock& out);

  Source source_;
  Selection selection_;
  io::File::Pin pin_;
  std::int64_t row_count_;
  std::uint64_t row_bytes_;
  bool contiguous_;
  std::int64_t rows_;
  std::int64_t started_ = 0;        // rows whose reading has begun
  std::uint64_t first_number_ = 0;  // of ahead_.front(), counted from the first block
  std::size_t ahead_limit_ = 1;
  std::shared_ptr<RecycledBlocks> recycled_ = std::make_shared<RecycledBlocks>();
  Lease in_flight_;
  Lease beside_;
  Block admitted_;  // the block that admission paid for
  std::deque<Ahead> ahead_;
  std::deque<io::Request> waiting_;  // requests that the queue has no room for yet
  std::size_t depth_ = scan_depth;
  std::uint32_t request_bytes_ = scan_request_bytes;
  std::optional<Staging> staging_;  // for selections that are gathered
  int owner_pid_;
  std::optional<io::Queue> queue_;
};

}  // namespace lowtide
