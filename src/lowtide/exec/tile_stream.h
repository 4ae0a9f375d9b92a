// The tiles of a pass, one after the other, with all their operands in memory: read ahead on one queue, however many files they come from.
//
//   TileStream stream(plan, memory, workspaces);       // memory: as many tiles ahead as it holds, at least one
//   for (Tile tile; stream.next(tile);) …tile.operands[k].data…
//
// Operands whose tiles are ranges of files are read straight into place, several tiles ahead. Others (gathers, other sources) are read when
// their tile is next; what is the same for every tile is read once, and what is in memory is used where it is.
//
// Not thread-safe. Blocks for the disk, interruptible. An error comes where its tile would have come and ends the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lowtide/exec/tile_plan.h"
#include "lowtide/source/file_source.h"
#include "lowtide/transfer/range.h"

namespace lowtide {

struct Tile {
  Shape begin, extent;                // in the plan's axes
  std::vector<StridedView> operands;  // until the next call of next()
};

class TileStream {
 public:
  struct Memory {
    std::uint64_t least_bytes = 0, most_bytes = 0;  // for one tile; for as many as make reading ahead worth it
  };
  static Memory memory(const TilePlan& plan);
  // Beside that memory, for each operand, whatever tiles no larger than these are read.
  static std::vector<Needs> operand_needs(const TilePlan& plan);

  // One workspace for each operand, null where it needs none. Memory begins on a page.
  TileStream(const TilePlan& plan, std::span<std::byte> memory, std::span<Workspace* const> workspaces);
  ~TileStream();
  TileStream(const TileStream&) = delete;
  TileStream& operator=(const TileStream&) = delete;

  bool next(Tile& tile);
  std::uint64_t read_bytes() const { return read_bytes_; }

 private:
  struct Ahead {
    Shape begin, extent;
    std::size_t slot = 0;
    std::vector<const std::byte*> data;  // of each operand that is a range
    std::size_t outstanding = 0;
    int error = 0;
    std::uint64_t number = 0;
    Extent failed;
    std::uint32_t got_bytes = 0;
    std::size_t failed_operand = 0;
  };
  struct Read {  // an operand that is read for every tile
    std::size_t operand = 0;
    std::uint64_t offset_bytes = 0;  // in a slot
    const FileSource* ranges = nullptr;
    Pace pace;
  };
  struct Lane {  // requests of one IO mode
    io::Mode mode;
    std::unique_ptr<Driver> driver;
    std::deque<Move> waiting;
  };
  void start_ahead();
  void ask_for(Ahead& ahead);
  void start_waiting();
  void arrived(const Arrival& arrival);
  void read_now(const PlannedOperand& operand, const TilePart& part, std::byte* memory, std::size_t number);
  void read_fixed();
  bool advance();

  const TilePlan& plan_;
  std::vector<Workspace*> workspaces_;
  std::span<std::byte> memory_;
  std::vector<Read> reads_;
  std::vector<StridedView> fixed_;  // by operand
  std::uint64_t fixed_bytes_ = 0, slot_bytes_ = 0;
  std::vector<std::size_t> free_slots_;
  std::vector<io::File::Pin> pins_;
  Shape at_;  // the next tile to begin
  bool more_;
  bool fixed_read_ = false;
  std::uint64_t next_number_ = 0;
  std::uint64_t read_bytes_ = 0;
  std::optional<std::size_t> lent_slot_;
  std::deque<Ahead> ahead_;
  std::vector<Lane> lanes_;  // last: their drivers wait for what is in flight into the others
};

}  // namespace lowtide
