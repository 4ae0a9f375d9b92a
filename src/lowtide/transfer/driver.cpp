#include "lowtide/transfer/driver.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "lowtide/base/interrupt.h"
#include "lowtide/io/transfer.h"
#include "lowtide/transfer/cached_copy.h"

namespace lowtide {
namespace {

bool reads(const Move& move) { return move.kind == io::Request::Kind::read; }

}  // namespace

void Arrival::check() const {
  if (error == 0) return;
  io::fail_request(*move.file, reads(move), error, move.extent.begin, move.extent.end - move.extent.begin, got_bytes);
}

Driver::Driver(const Options& options, Receiver receiver)
    : slots_(options.slots.data()),
      slot_bytes_(options.slot_bytes),
      depth_(std::clamp<std::size_t>(
          slot_bytes_ > 0 ? std::min(options.depth, options.slots.size() / slot_bytes_) : options.depth, 1,
          io::Queue::max_depth - 1)),
      pin_(options.pin),
      maps_(options.maps),
      receiver_(std::move(receiver)),
      queue_(options.mode) {
  free_.reserve(depth_);  // so that nothing that arrives fails for want of memory
}

bool Driver::start(const Move& move) {
  interrupt_point();
  while (full()) settle();
  if (free_.empty()) {
    entries_.emplace_back();
    free_.push_back(entries_.size() - 1);
  }
  const std::size_t index = free_.back();
  const Span span = reads(move) ? move.extent.units(move.unit) : Span{move.extent.begin, move.extent.end};
  Entry entry{move, move.memory != nullptr ? move.memory : slots_ + index * slot_bytes_, span.begin, std::nullopt};
  if (pin_) entry.pin.emplace(*move.file);
  if (reads(move) && copy_cached(entry)) {
    receiver_({entry.move, entry.memory, entry.offset, move.place != nullptr, 0, 0});
    return true;
  }
  queue_.push({.file = move.file,
               .kind = move.kind,
               .memory = entry.memory,
               .offset = span.begin,
               .bytes = static_cast<std::uint32_t>(span.bytes()),
               .least_bytes = static_cast<std::uint32_t>(move.extent.end - span.begin),
               .tag = index});
  free_.pop_back();
  Entry& kept = entries_[index];
  kept.move = entry.move;
  kept.memory = entry.memory;
  kept.offset = entry.offset;
  if (entry.pin) kept.pin.emplace(std::move(*entry.pin));
  return false;
}

bool Driver::copy_cached(const Entry& entry) {
  const Move& move = entry.move;
  std::byte* const to = move.place != nullptr ? move.place : entry.memory + (move.extent.begin - entry.offset);
  return lowtide::copy_cached(*move.file, to, {move.extent.begin, move.extent.end}, maps_);
}

void Driver::settle() { receive(queue_.wait()); }
void Driver::look() {
  for (int slices = 0; slices < 1000 / interrupt_slice_ms && queue_.in_flight() > 0; ++slices) receive(queue_.look());
}

void Driver::receive(std::span<const io::Completion> completions) {
  std::exception_ptr thrown;
  for (const io::Completion& c : completions) {
    Entry& entry = entries_[c.tag];
    try {
      receiver_({entry.move, entry.memory, entry.offset, false, c.error, c.bytes});
    } catch (...) {
      if (!thrown) thrown = std::current_exception();
    }
    entry.pin.reset();
    free_.push_back(c.tag);
  }
  if (thrown) std::rethrow_exception(thrown);
}

void Driver::finish() {
  while (queue_.in_flight() > 0) settle();
}

}  // namespace lowtide
