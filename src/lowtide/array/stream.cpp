#include "lowtide/array/stream.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/io/transfer.h"
#include "lowtide/kernels/byteswap.h"
#include "lowtide/memory/operation.h"

namespace lowtide {
namespace {

constexpr std::uint64_t preferred_block_bytes = 4_MiB;  // long enough for the disk, short enough for a cache to like
constexpr std::uint64_t least_block_bytes = 256_KiB;
constexpr std::size_t most_ahead = 6;

// The bytes of a selection that is one range of one file.
std::optional<ByteMap> range_of(const Source& source, const Selection& selection) {
  const FileSource* file = source.in_one_file();
  if (file == nullptr || selection.size() == 0) return std::nullopt;
  ByteMap map = file->lower(selection);
  if (!map.contiguous()) return std::nullopt;
  return map;
}

// A block of columns of a file of rows reaches over all of the file: the fewer blocks, the fewer times it is read.
bool across_the_file(const Source& source, const Selection& selection) {
  const FileSource* file = source.in_one_file();
  if (file == nullptr || selection.size() == 0) return false;
  const ByteMap map = file->lower(selection);
  const std::int64_t first = std::abs(map.axes[0].stride_bytes);
  return std::any_of(map.axes.begin(), map.axes.end(),
                     [&](const ByteAxis& axis) { return std::abs(axis.stride_bytes) > first && axis.extent > 1; });
}

}  // namespace

RecycledBlocks::RecycledBlocks() { blocks_.reserve(most_ahead); }

void RecycledBlocks::lend() {
  const std::lock_guard lock(mutex_);
  ++lent_;
}

void RecycledBlocks::come_back(Block block) noexcept {
  {
    const std::lock_guard lock(mutex_);
    --lent_;
  }
  keep(std::move(block));
}

void RecycledBlocks::keep(Block block) noexcept {
  Block unwanted;  // freed after the lock is gone
  const std::lock_guard lock(mutex_);
  if (closed_ || blocks_.size() >= most_ahead) {
    unwanted = std::move(block);
    return;
  }
  block.repurpose(Purpose::read_ahead);
  blocks_.push_back(std::move(block));
}

std::size_t RecycledBlocks::count() const {
  const std::lock_guard lock(mutex_);
  return blocks_.size() + lent_;
}

Block RecycledBlocks::take() {
  const std::lock_guard lock(mutex_);
  if (blocks_.empty()) return {};
  Block block = std::move(blocks_.back());
  blocks_.pop_back();
  return block;
}

void RecycledBlocks::close() noexcept {
  std::vector<Block> unwanted;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  unwanted.swap(blocks_);
}

std::uint64_t RowStream::least_bytes(const Source& source, const Selection& selection) {
  if (selection.size() == 0) return page_bytes;
  if (selection.ndim() == 0) return page_bytes + source.needs_of_any(1).least_bytes;
  const std::int64_t row_count = selection.axes()[0].extent;
  const std::int64_t row_size = selection.size() / row_count;
  const std::uint64_t row = round_up(static_cast<std::uint64_t>(row_size) * itemsize(source.dtype()), page_bytes);
  const std::uint64_t blocks = row_count > 1 ? 2 : 1;  // a loop's variable keeps one while the next is read
  if (range_of(source, selection)) return blocks * (row + page_bytes) + Pace::least_bytes(source.in_one_file()->file());
  return blocks * row + source.needs_of_any(row_size).least_bytes;
}

RowStream::RowStream(std::shared_ptr<const Source> source, Selection selection, std::int64_t rows,
                     std::uint64_t beside_bytes)
    : source_(std::move(source)),
      selection_(std::move(selection)),
      range_(range_of(*source_, selection_)),
      row_count_(selection_.axes().at(0).extent),
      row_size_(row_count_ > 0 ? selection_.size() / row_count_ : 0),
      row_bytes_(static_cast<std::uint64_t>(row_size_) * itemsize(source_->dtype())),
      rows_(rows > 0 ? std::min(rows, std::max<std::int64_t>(row_count_, 1)) : choose_rows()) {
  if (range_) pin_.emplace(file());
  source_->stamp();  // refuses what has changed
  const bool empty = selection_.size() == 0;
  const Needs needs = empty || range_ ? Needs{} : source_->needs_of_any(rows_ * row_size_);
  const std::uint64_t in_flight = range_ ? Pace::least_bytes(file()) : needs.least_bytes;
  const std::uint64_t block = empty ? 0 : block_bytes(rows_);
  const std::uint64_t least = block + in_flight + beside_bytes;
  // A second one, which the consumer may keep while the next is filled. Who brings work of its own along keeps none: there it is for speed.
  const std::uint64_t reachable = Budget::process().reachable_bytes();
  const bool second = rows_ < row_count_ && (beside_bytes == 0 || block + least <= reachable);
  least_blocks_ = second ? 2 : 1;
  Lease lease = Budget::process().take(second ? block + least : least, Purpose::read_ahead,
                                       std::string(reading_blocks) + source_->name());
  beside_ = lease.split(beside_bytes, Purpose::staging);
  if (empty) return;
  in_flight_ = lease.split(in_flight, Purpose::read_ahead);
  if (second) recycled_->keep(Block::allocate(lease.split(block, Purpose::read_ahead)));
  admitted_ = Block::allocate(std::move(lease));
  // Half of what is left is for reading ahead: the rest is for what the consumer does with the rows.
  const std::uint64_t spare = Budget::process().spare_bytes() / 2;
  if (!range_) {
    workspace_.emplace(Needs{in_flight, std::min(needs.most_bytes, in_flight + spare)}, std::move(in_flight_));
    return;
  }
  if (in_flight > 0) {
    in_flight_.absorb(Budget::process().try_take_between(page_bytes, std::min(spare / 4, Pace::most_bytes(file())),
                                                         Purpose::read_ahead));
  }
  pace_ = Pace::of(file(), in_flight_);
  ahead_limit_ = 1 + std::min<std::size_t>(most_ahead - 1, spare / block_bytes(rows_));
}

RowStream::~RowStream() { recycled_->close(); }

// Rows start anywhere in a unit, so a block has room for one unit more than its rows fill.
std::uint64_t RowStream::block_bytes(std::int64_t rows) const {
  return round_up(static_cast<std::uint64_t>(rows) * row_bytes_, page_bytes) + (range_ ? page_bytes : 0);
}

std::int64_t RowStream::choose_rows() const {
  if (row_bytes_ == 0) return std::max<std::int64_t>(row_count_, 1);
  const std::uint64_t room = Budget::process().reachable_bytes();
  const std::uint64_t fixed =
      4 * page_bytes + (range_ ? Pace::least_bytes(file()) : source_->needs_of_any(row_size_).least_bytes);
  const std::uint64_t affordable = room > fixed ? (room - fixed) / 2 : 0;
  const std::uint64_t preferred = range_ ? preferred_block_bytes : 4 * preferred_block_bytes;
  std::uint64_t target = std::min(affordable, std::clamp(room / 8, least_block_bytes, preferred));
  if (across_the_file(*source_, selection_)) target = std::max(target, std::min(affordable, room / 3));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(target / row_bytes_), 1,
                                  std::max<std::int64_t>(row_count_, 1));
}

bool RowStream::next(RowBlock& out) {
  out = {};
  const Turn::Held mine = turn_.take("the next block of " + source_->name());
  const ForSpeed::Use use(for_speed_);
  if (!range_) return next_of_any(out);
  if (!made_.here()) after_fork();
  if (!driver_) {
    driver_.emplace(Driver::Options{.mode = file().mode(), .depth = pace_.depth},
                    [this](const Arrival& arrival) { arrived(arrival); });
  }
  while (ahead_.size() < ahead_limit_ && started_ < row_count_) {
    std::optional<Block> block = spare_block();
    if (!block) break;
    start_next(std::move(*block));
  }
  if (ahead_.empty()) {
    if (started_ >= row_count_) return false;
    start_next(block_to_fill());
  }
  start_waiting();
  while (ahead_.front().outstanding > 0) {
    driver_->settle();
    start_waiting();
  }
  if (ahead_.front().error != 0) fail_first();
  source_->in_one_file()->check_unchanged();
  Ahead first = std::move(ahead_.front());
  ahead_.pop_front();
  ++first_number_;
  std::byte* data = first.block.data() + (first.offset - whole_units({first.offset, first.offset + first.bytes}).begin);
  if (source_->in_one_file()->swapped()) byteswap(data, source_->dtype(), first.bytes / range_->itemsize);
  out = hand_out(std::move(first.block), data, first.begin, first.end);
  return true;
}

Block RowStream::block_to_fill() {
  if (std::optional<Block> block = spare_block()) return std::move(*block);
  // The consumer holds every block there was: this one has to be paid for, or refused.
  return Block::allocate(
      Budget::process().take(block_bytes(rows_), Purpose::read_ahead, "blocks of " + source_->name()));
}

std::optional<Block> RowStream::spare_block() {
  if (admitted_) return std::move(admitted_);
  if (Block block = recycled_->take()) return block;
  if (Lease lease = Budget::process().try_take(block_bytes(rows_), Purpose::read_ahead))
    return Block::allocate(std::move(lease));
  return std::nullopt;
}

void RowStream::start_next(Block block) {
  Ahead ahead;
  ahead.begin = started_;
  ahead.end = std::min(row_count_, started_ + rows_);
  ahead.block = std::move(block);
  ahead.offset = static_cast<std::uint64_t>(range_->base) + static_cast<std::uint64_t>(ahead.begin) * row_bytes_;
  ahead.bytes = static_cast<std::uint64_t>(ahead.end - ahead.begin) * row_bytes_;
  started_ = ahead.end;
  ask_for(ahead, first_number_ + ahead_.size());
  ahead_.push_back(std::move(ahead));
}

void RowStream::ask_for(Ahead& ahead, std::uint64_t number) {
  RangeMoves moves(file(), ahead.block.data(), {ahead.offset, ahead.offset + ahead.bytes}, pace_.request_bytes, number);
  for (Move move; moves.next(move);) {
    waiting_.push_back(move);
    ++ahead.outstanding;
  }
}

void RowStream::start_waiting() {
  while (!waiting_.empty() && !driver_->full()) {
    const bool copied = driver_->start(waiting_.front());
    waiting_.pop_front();  // not before it was started: an interrupt must not lose it
    // What is cached costs this thread a copy: no further ahead than the block that is wanted now.
    if (copied && ahead_.front().outstanding == 0 && driver_->in_flight() == 0) return;
  }
}

void RowStream::arrived(const Arrival& arrival) {
  Ahead& ahead = ahead_[arrival.move.tag - first_number_];
  if (arrival.error != 0 && ahead.error == 0) {
    ahead.error = arrival.error;
    ahead.got_bytes = arrival.got_bytes;
  }
  --ahead.outstanding;
}

void RowStream::fail_first() {
  Ahead& first = ahead_.front();
  const int error = std::exchange(first.error, 0);
  ask_for(first, first_number_);
  io::fail_request(file(), true, error, first.offset, first.bytes, first.got_bytes);
}

// The blocks that are furthest ahead, as long as nothing is on its way into them.
std::uint64_t RowStream::give_back(std::uint64_t bytes) {
  if (!made_.here()) return 0;
  if (driver_) driver_->look();
  std::uint64_t freed = 0;
  while (freed < bytes && recycled_->count() + ahead_.size() + (admitted_ ? 1 : 0) > least_blocks_) {
    if (const Block block = recycled_->take()) {
      freed += block.size_bytes();
      continue;
    }
    if (ahead_.empty()) break;
    const std::uint64_t number = first_number_ + ahead_.size() - 1;
    Ahead& last = ahead_.back();
    const auto of_last = [&](const Move& move) { return move.tag == number; };
    if (static_cast<std::size_t>(std::count_if(waiting_.begin(), waiting_.end(), of_last)) != last.outstanding) break;
    std::erase_if(waiting_, of_last);
    started_ = last.begin;
    freed += last.block.size_bytes();
    ahead_.pop_back();
  }
  const std::uint64_t least = range_ ? Pace::least_bytes(file()) : in_flight_.bytes();
  if (freed < bytes && in_flight_.bytes() > least && waiting_.empty() && (!driver_ || driver_->in_flight() == 0)) {
    freed += in_flight_.bytes() - least;
    in_flight_.shrink(least);
    pace_ = Pace::of(file(), in_flight_);
    driver_.reset();
  }
  return freed;
}

// A child of fork() has the blocks but not the requests that were filling them.
void RowStream::after_fork() {
  made_ = MadeHere();
  driver_.reset();
  waiting_.clear();
  if (ahead_.empty()) return;
  started_ = ahead_.front().begin;
  std::deque<Ahead> lost = std::move(ahead_);
  ahead_.clear();
  for (Ahead& ahead : lost) start_next(std::move(ahead.block));
}

RowBlock RowStream::hand_out(Block block, std::byte* data, std::int64_t begin, std::int64_t end) {
  block.repurpose(Purpose::results);
  const std::shared_ptr<void> owner(new Block(std::move(block)), [recycled = recycled_](void* pointer) {
    std::unique_ptr<Block> dropped(static_cast<Block*>(pointer));
    recycled->come_back(std::move(*dropped));
  });
  recycled_->lend();
  Shape shape = selection_.shape();
  shape[0] = end - begin;
  return {begin, Buffer(owner, data, std::move(shape), source_->dtype())};
}

void RowStream::read_rows(std::int64_t begin, std::int64_t end, std::byte* memory) {
  if (!made_.here()) {
    reader_.reset();
    made_ = MadeHere();
  }
  if (!reader_) reader_ = source_->row_reader(selection_.rows(begin, row_count_), rows_, *workspace_);
  if (reader_) {
    std::unique_ptr<RowReader> reader = std::move(reader_);  // an error ends it: the next call begins anew
    reader->next(memory, end - begin);
    reader_ = std::move(reader);
    return;
  }
  Box box = Box::dense(selection_.rows(begin, end), itemsize(source_->dtype()));
  box.memory = memory;
  source_->needs(box);
  source_->read(box, *workspace_);
}

bool RowStream::next_of_any(RowBlock& out) {
  if (started_ >= row_count_) return false;
  const std::int64_t end = std::min(row_count_, started_ + rows_);
  if (selection_.size() == 0) {
    Shape shape = selection_.shape();
    shape[0] = end - started_;
    out = {started_, Buffer(nullptr, nullptr, std::move(shape), source_->dtype())};
  } else {
    Block block = block_to_fill();
    read_rows(started_, end, block.data());
    std::byte* data = block.data();
    out = hand_out(std::move(block), data, started_, end);
  }
  started_ = end;
  interrupt_point();
  return true;
}

}  // namespace lowtide
