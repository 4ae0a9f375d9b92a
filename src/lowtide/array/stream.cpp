#include "lowtide/array/stream.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "lowtide/array/gather.h"
#include "lowtide/array/read.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/io/transfer.h"
#include "lowtide/kernels/byteswap.h"

namespace lowtide {
namespace {

constexpr std::uint64_t preferred_block_bytes = 4_MiB;  // long enough for the disk, short enough for a cache to like
constexpr std::uint64_t least_block_bytes = 256_KiB;
constexpr std::size_t most_ahead = 6;

// What the budget could still pay for, spare blocks dropped.
std::uint64_t room_bytes() {
  const Usage usage = Budget::process().usage();
  const auto cache = usage.by_purpose.find("cache");
  const std::uint64_t kept = usage.held_bytes - (cache == usage.by_purpose.end() ? 0 : cache->second);
  return usage.limit_bytes > kept ? usage.limit_bytes - kept : 0;
}

}  // namespace

void RecycledBlocks::give(Block block) noexcept {
  Block unwanted;  // freed after the lock is gone
  const std::lock_guard lock(mutex_);
  if (closed_ || blocks_.size() >= most_ahead) {
    unwanted = std::move(block);
    return;
  }
  block.repurpose(Purpose::read_ahead);
  blocks_.push_back(std::move(block));
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
  if (selection.ndim() == 0 || selection.size() == 0) return page_bytes;
  const auto row_count = static_cast<std::uint64_t>(selection.shape()[0]);
  const std::uint64_t row = round_up(selection.size_bytes() / row_count, page_bytes);
  const std::uint64_t blocks = row_count > 1 ? 2 : 1;  // a loop's variable keeps one while the next is read
  if (selection.contiguous()) return blocks * (row + page_bytes) + least_in_flight_bytes(*source.file);
  return blocks * row + gather_needs_of_any(*source.file).least_bytes;
}

RowStream::RowStream(Source source, Selection selection, std::int64_t rows, std::uint64_t beside_bytes)
    : source_(std::move(source)),
      selection_(std::move(selection)),
      pin_(source_.file->pin()),
      row_count_(selection_.axes().at(0).extent),
      row_bytes_(row_count_ > 0 ? selection_.size_bytes() / static_cast<std::uint64_t>(row_count_) : 0),
      contiguous_(selection_.contiguous() && selection_.size() > 0),
      rows_(rows > 0 ? std::min(rows, std::max<std::int64_t>(row_count_, 1)) : choose_rows()),
      owner_pid_(getpid()) {
  source_.check_unchanged();
  io::File& file = *source_.file;
  const bool empty = selection_.size() == 0;
  const std::uint64_t in_flight = empty         ? 0
                                  : contiguous_ ? least_in_flight_bytes(file)
                                                : gather_needs_of_any(file).least_bytes;
  const std::uint64_t block = empty ? 0 : block_bytes(rows_);
  const std::uint64_t least = block + in_flight + beside_bytes;
  // Where there is room, a second one that the consumer may keep while the next is filled: paid for before the rest of the budget is
  // used for speed.
  const bool second = rows_ < row_count_ && block <= room_bytes() && least <= room_bytes() - block;
  Lease lease =
      Budget::process().take(second ? block + least : least, Purpose::read_ahead, "reading blocks of " + file.path());
  beside_ = lease.split(beside_bytes, Purpose::staging);
  if (empty) return;
  in_flight_ = lease.split(in_flight, Purpose::read_ahead);
  if (second) recycled_->give(Block::allocate(lease.split(block, Purpose::read_ahead)));
  admitted_ = Block::allocate(std::move(lease));
  // Half of what is left is for reading ahead: the rest is for what the consumer does with the rows.
  const std::uint64_t spare = Budget::process().spare_bytes() / 2;
  if (!contiguous_) {
    staging_.emplace(std::min(gather_needs_of_any(file).most_bytes, in_flight + spare), std::move(in_flight_));
    return;
  }
  if (in_flight > 0) {
    in_flight_.absorb(Budget::process().try_take_between(page_bytes, std::min(spare / 4, most_in_flight_bytes(file)),
                                                         Purpose::read_ahead));
    request_bytes_ =
        static_cast<std::uint32_t>(std::clamp(round_down(in_flight_.bytes() / 4, page_bytes), 16_KiB, 1_MiB));
    depth_ = std::max<std::size_t>(1, in_flight_.bytes() / request_bytes_);
  }
  ahead_limit_ = 1 + std::min<std::size_t>(most_ahead - 1, spare / block_bytes(rows_));
}

RowStream::~RowStream() { recycled_->close(); }

// Rows start anywhere in a unit, so a block has room for one unit more than its rows fill.
std::uint64_t RowStream::block_bytes(std::int64_t rows) const {
  return round_up(static_cast<std::uint64_t>(rows) * row_bytes_, page_bytes) + (contiguous_ ? page_bytes : 0);
}

std::int64_t RowStream::choose_rows() const {
  if (row_bytes_ == 0) return std::max<std::int64_t>(row_count_, 1);
  io::File& file = *source_.file;
  const std::uint64_t room = room_bytes();
  const std::uint64_t fixed =
      4 * page_bytes + (contiguous_ ? least_in_flight_bytes(file) : gather_needs_of_any(file).least_bytes);
  const std::uint64_t affordable = room > fixed ? (room - fixed) / 2 : 0;
  const std::uint64_t preferred = contiguous_ ? preferred_block_bytes : 4 * preferred_block_bytes;
  const std::uint64_t target = std::min(affordable, std::clamp(room / 8, least_block_bytes, preferred));
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(target / row_bytes_), 1,
                                  std::max<std::int64_t>(row_count_, 1));
}

bool RowStream::next(RowBlock& out) {
  out = {};
  if (!contiguous_) return next_gathered(out);
  if (owner_pid_ != getpid()) after_fork();
  if (!queue_) queue_.emplace(source_.file->mode());
  while (ahead_.size() < ahead_limit_ && started_ < row_count_) {
    std::optional<Block> block = spare_block();
    if (!block) break;
    start_next(std::move(*block));
  }
  if (ahead_.empty()) {
    if (started_ >= row_count_) return false;
    start_next(block_to_fill());
  }
  push_waiting();
  while (ahead_.front().outstanding > 0) {
    settle(queue_->wait());
    push_waiting();
  }
  if (ahead_.front().failed.error != 0) fail_first();
  source_.check_unchanged();
  Ahead first = std::move(ahead_.front());
  ahead_.pop_front();
  ++first_number_;
  std::byte* data = first.block.data() + (first.offset - whole_units(first.offset, first.bytes).begin);
  if (source_.layout.endian != native_endian) byteswap(data, source_.layout.dtype, first.bytes / selection_.itemsize());
  out = hand_out(std::move(first.block), data, first.begin, first.end);
  return true;
}

Block RowStream::block_to_fill() {
  if (std::optional<Block> block = spare_block()) return std::move(*block);
  // The consumer holds every block there was: this one has to be paid for, or refused.
  return Block::allocate(
      Budget::process().take(block_bytes(rows_), Purpose::read_ahead, "reading blocks of " + source_.file->path()));
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
  ahead.offset = static_cast<std::uint64_t>(selection_.base()) + static_cast<std::uint64_t>(ahead.begin) * row_bytes_;
  ahead.bytes = static_cast<std::uint64_t>(ahead.end - ahead.begin) * row_bytes_;
  started_ = ahead.end;
  ask_for(ahead, first_number_ + ahead_.size());
  ahead_.push_back(std::move(ahead));
}

void RowStream::ask_for(Ahead& ahead, std::uint64_t number) {
  RangeRequests requests(*source_.file, ahead.block.data(), ahead.offset, ahead.bytes, request_bytes_, number);
  for (io::Request request; requests.next(request);) {
    ++ahead.outstanding;
    waiting_.push_back(request);
  }
}

void RowStream::push_waiting() {
  while (!waiting_.empty() && queue_->in_flight() < depth_) {
    const io::Request request = waiting_.front();
    if (source_.file->is_cached(request.offset, request.least_bytes)) {
      try {
        io::read_cached_fully(*source_.file, request.memory, request.offset, request.least_bytes);
      } catch (const IoError&) {  // it may be for rows that nobody asked for yet: the disk says so when they are next
        queue_->push(request);
        waiting_.pop_front();
        continue;
      }
      waiting_.pop_front();  // not before it succeeded: an error must not lose it
      --ahead_[request.tag - first_number_].outstanding;
      interrupt_point();
      // What is cached costs this thread a copy: no further ahead than the block that is wanted now.
      if (request.tag == first_number_ && ahead_.front().outstanding > 0) continue;
      if (queue_->in_flight() == 0) return;
      continue;
    }
    queue_->push(request);
    waiting_.pop_front();
  }
}

void RowStream::settle(std::span<const io::Completion> completions) {
  for (const io::Completion& c : completions) {
    Ahead& ahead = ahead_[c.tag - first_number_];
    if (c.error != 0 && ahead.failed.error == 0) ahead.failed = c;
    --ahead.outstanding;
  }
}

void RowStream::fail_first() {
  Ahead& first = ahead_.front();
  const io::Completion failed = std::exchange(first.failed, {});
  ask_for(first, first_number_);
  io::fail_request(*source_.file, true, failed.error, first.offset, first.bytes, failed.bytes);
}

// A child of fork() has the blocks but not the requests that were filling them.
void RowStream::after_fork() {
  owner_pid_ = getpid();
  queue_.reset();
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
    recycled->give(std::move(*dropped));
  });
  Shape shape = selection_.shape();
  shape[0] = end - begin;
  return {begin, Buffer(owner, data, std::move(shape), source_.layout.dtype)};
}

bool RowStream::next_gathered(RowBlock& out) {
  if (started_ >= row_count_) return false;
  const std::int64_t end = std::min(row_count_, started_ + rows_);
  if (selection_.size() == 0) {
    Shape shape = selection_.shape();
    shape[0] = end - started_;
    out = {started_, Buffer(nullptr, nullptr, std::move(shape), source_.layout.dtype)};
  } else {
    Block block = block_to_fill();
    read_selection_into(source_, selection_.rows(started_, end), block.data(), *staging_);
    std::byte* data = block.data();
    out = hand_out(std::move(block), data, started_, end);
  }
  started_ = end;
  interrupt_point();
  return true;
}

}  // namespace lowtide
