#include "lowtide/exec/tile_stream.h"

#include <algorithm>
#include <utility>

#include "lowtide/base/interrupt.h"
#include "lowtide/io/transfer.h"
#include "lowtide/kernels/byteswap.h"

namespace lowtide {
namespace {

constexpr std::size_t most_slots = 8;
constexpr std::size_t most_depth = 32;
// Ranges begin and end anywhere in a unit.
constexpr std::uint64_t room_around = 2 * page_bytes;

// The file of an operand whose tiles are ranges of it.
const FileSource* ranges_of(const TilePlan& plan, const PlannedOperand& operand) {
  const FileSource* file = operand.source->in_one_file();
  if (file == nullptr || operand.selection.size() == 0) return nullptr;
  if (file->layout().data_offset % alignment(operand.dtype) != 0) return nullptr;  // kernels want aligned elements
  const Shape begin(plan.extent.size(), 0);
  return file->lower(part_of(operand, begin, plan.cut).selection).contiguous() ? file : nullptr;
}

std::uint64_t part_bytes(const TilePlan& plan, const PlannedOperand& operand) {
  std::uint64_t bytes = itemsize(operand.dtype);
  for (std::size_t i = 0; i < plan.cut.size(); ++i) {
    if (operand.selection.depends_on(i)) bytes *= static_cast<std::uint64_t>(plan.cut[i]);
  }
  return round_up(bytes, page_bytes) + room_around;
}

}  // namespace

TileStream::Memory TileStream::memory(const TilePlan& plan) {
  std::uint64_t fixed = 0, slot = 0;
  for (const PlannedOperand& operand : plan.operands) {
    if (!operand.memory) (operand.fixed ? fixed : slot) += part_bytes(plan, operand);
  }
  const auto tiles = static_cast<std::uint64_t>(std::max<std::int64_t>(plan.tile_count(), 1));
  return {fixed + slot, fixed + slot * std::min<std::uint64_t>(most_slots, tiles)};
}

std::vector<Needs> TileStream::operand_needs(const TilePlan& plan) {
  std::vector<Needs> all;
  for (const PlannedOperand& operand : plan.operands) {
    Needs& one = all.emplace_back();
    if (operand.memory) continue;
    one = operand.source->needs_of_any(plan.tile_size());
    // Whether tiles are ranges or not depends on where they are cut.
    if (const FileSource* file = operand.source->in_one_file()) {
      one.least_bytes = std::max(one.least_bytes, Pace::least_bytes(file->file()));
      one.most_bytes = std::max(one.most_bytes, Pace::most_bytes(file->file()));
    }
  }
  return all;
}

TileStream::TileStream(const TilePlan& plan, std::span<std::byte> memory, std::span<Workspace* const> workspaces)
    : plan_(plan),
      workspaces_(workspaces.begin(), workspaces.end()),
      memory_(memory),
      fixed_(plan.operands.size()),
      at_(plan.extent.size(), 0),
      more_(std::ranges::find(plan.extent, 0) == plan.extent.end()) {
  std::size_t depth = 0;
  for (std::size_t k = 0; k < plan_.operands.size(); ++k) {
    const PlannedOperand& operand = plan_.operands[k];
    if (operand.memory) continue;
    if (operand.fixed) {
      fixed_bytes_ += part_bytes(plan_, operand);
      continue;
    }
    Read read{.operand = k, .offset_bytes = slot_bytes_, .ranges = ranges_of(plan_, operand), .pace = {}};
    slot_bytes_ += part_bytes(plan_, operand);
    if (read.ranges != nullptr) {
      io::File& file = read.ranges->file();
      pins_.emplace_back(file);
      read.pace = Pace::of(file, workspaces_[k]->in_flight());
      depth = std::min(most_depth, depth + read.pace.depth);
      if (std::ranges::none_of(lanes_, [&](const Lane& lane) { return lane.mode == file.mode(); }))
        lanes_.push_back({file.mode(), nullptr, {}});
    }
    reads_.push_back(read);
  }
  for (Lane& lane : lanes_) {
    lane.driver = std::make_unique<Driver>(Driver::Options{.mode = lane.mode, .depth = depth},
                                           [this](const Arrival& arrival) { arrived(arrival); });
  }
  std::size_t slots = most_slots;
  if (slot_bytes_ > 0) slots = std::min<std::size_t>(slots, (memory_.size() - fixed_bytes_) / slot_bytes_);
  for (std::size_t i = 0; i < std::max<std::size_t>(slots, 1); ++i) free_slots_.push_back(i);
}

TileStream::~TileStream() = default;

bool TileStream::advance() {
  for (std::size_t i = plan_.loop.size(); i-- > 0;) {
    const std::size_t axis = plan_.loop[i];
    at_[axis] += plan_.tile_extent(axis, at_[axis]);
    if (at_[axis] < plan_.extent[axis]) return true;
    at_[axis] = 0;
  }
  return false;
}

void TileStream::read_now(const PlannedOperand& operand, const TilePart& part, std::byte* memory, std::size_t number) {
  Box box{.elements = part.selection,
          .strides_bytes = dense_strides(part.selection.shape(), itemsize(operand.dtype)),
          .memory = memory};
  operand.source->needs(box);
  operand.source->read(box, *workspaces_[number]);
  read_bytes_ += part.bytes;
}

void TileStream::read_fixed() {
  fixed_read_ = true;
  std::byte* at = memory_.data();
  const Shape origin(plan_.extent.size(), 0);
  for (std::size_t k = 0; k < plan_.operands.size(); ++k) {
    const PlannedOperand& operand = plan_.operands[k];
    if (operand.memory || !operand.fixed) continue;
    const TilePart part = part_of(operand, origin, plan_.extent);
    read_now(operand, part, at, k);
    fixed_[k] = {at, part.strides_bytes};
    at += part_bytes(plan_, operand);
  }
}

void TileStream::ask_for(Ahead& ahead) {
  std::byte* slot = memory_.data() + fixed_bytes_ + ahead.slot * slot_bytes_;
  for (const Read& read : reads_) {
    if (read.ranges == nullptr) {
      ahead.data.push_back(slot + read.offset_bytes);
      continue;
    }
    const TilePart part = part_of(plan_.operands[read.operand], ahead.begin, ahead.extent);
    const auto offset = static_cast<std::uint64_t>(read.ranges->lower(part.selection).base);
    std::byte* memory = slot + read.offset_bytes;
    const Span range{offset, offset + part.bytes};
    ahead.data.push_back(memory + (offset - whole_units(range).begin));
    read_bytes_ += part.bytes;
    io::File& file = read.ranges->file();
    Lane& lane = *std::ranges::find_if(lanes_, [&](const Lane& each) { return each.mode == file.mode(); });
    RangeMoves moves(file, memory, range, read.pace.request_bytes, ahead.number);
    for (Move move; moves.next(move);) {
      lane.waiting.push_back(move);
      ++ahead.outstanding;
    }
  }
}

void TileStream::start_ahead() {
  while (more_ && !free_slots_.empty()) {
    Ahead ahead;
    ahead.begin = at_;
    for (std::size_t i = 0; i < at_.size(); ++i) ahead.extent.push_back(plan_.tile_extent(i, at_[i]));
    ahead.slot = free_slots_.back();
    ahead.number = next_number_++;
    free_slots_.pop_back();
    ask_for(ahead);
    ahead_.push_back(std::move(ahead));
    more_ = advance();
  }
}

void TileStream::start_waiting() {
  for (Lane& lane : lanes_) {
    while (!lane.waiting.empty() && !lane.driver->full()) {
      const bool copied = lane.driver->start(lane.waiting.front());
      lane.waiting.pop_front();
      // What is cached costs this thread a copy: no further ahead than the tile that is wanted now.
      if (copied && ahead_.front().outstanding == 0 && lane.driver->in_flight() == 0) return;
    }
  }
}

void TileStream::arrived(const Arrival& arrival) {
  Ahead& ahead = ahead_[arrival.move.tag - ahead_.front().number];
  if (arrival.error != 0 && ahead.error == 0) {
    ahead.error = arrival.error;
    ahead.got_bytes = arrival.got_bytes;
    ahead.failed = arrival.move.extent;
    for (const Read& read : reads_) {
      if (read.ranges != nullptr && &read.ranges->file() == arrival.move.file) ahead.failed_operand = read.operand;
    }
  }
  --ahead.outstanding;
}

bool TileStream::next(Tile& tile) {
  if (lent_slot_) free_slots_.push_back(*std::exchange(lent_slot_, std::nullopt));
  if (!fixed_read_) read_fixed();
  start_ahead();
  if (ahead_.empty()) return false;
  start_waiting();
  while (ahead_.front().outstanding > 0) {
    for (Lane& lane : lanes_) {
      if (ahead_.front().outstanding > 0) lane.driver->settle();
    }
    start_waiting();
  }
  interrupt_point();
  Ahead first = std::move(ahead_.front());
  ahead_.pop_front();
  lent_slot_ = first.slot;
  if (first.error != 0) {
    io::fail_request(plan_.operands[first.failed_operand].source->in_one_file()->file(), true, first.error,
                     first.failed.begin, first.failed.end - first.failed.begin, first.got_bytes);
  }
  tile.begin = first.begin;
  tile.extent = first.extent;
  tile.operands.assign(plan_.operands.size(), {});
  for (std::size_t k = 0; k < plan_.operands.size(); ++k) {
    const PlannedOperand& operand = plan_.operands[k];
    if (operand.memory) {
      const std::byte* data = operand.memory->data;
      for (std::size_t i = 0; i < first.begin.size(); ++i) data += first.begin[i] * operand.memory->strides_bytes[i];
      tile.operands[k] = {data, operand.memory->strides_bytes};
    } else if (operand.fixed) {
      tile.operands[k] = fixed_[k];
    }
  }
  for (std::size_t r = 0; r < reads_.size(); ++r) {
    const Read& read = reads_[r];
    const PlannedOperand& operand = plan_.operands[read.operand];
    const TilePart part = part_of(operand, first.begin, first.extent);
    auto* data = const_cast<std::byte*>(first.data[r]);
    if (read.ranges == nullptr) {
      read_now(operand, part, data, read.operand);
    } else {
      read.ranges->check_unchanged();
      if (read.ranges->swapped()) byteswap(data, operand.dtype, part.bytes / itemsize(operand.dtype));
    }
    tile.operands[read.operand] = {data, part.strides_bytes};
  }
  return true;
}

}  // namespace lowtide
