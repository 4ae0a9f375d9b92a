#include "lowtide/transfer/sequential_writer.h"

#include <algorithm>
#include <cstring>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/io/transfer.h"

namespace lowtide {
namespace {

constexpr std::uint64_t least_slot_bytes = 64_KiB;
constexpr std::uint64_t most_slot_bytes = 1_MiB;
constexpr std::size_t most_slots = 16;
constexpr std::size_t no_slot = most_slots;

std::uint64_t slot_bytes_for(const io::File& file, std::uint64_t staging_bytes) {
  const std::uint64_t usable = io::memory_in_flight(file.mode(), staging_bytes);
  return std::clamp(round_down(usable / most_slots, page_bytes), least_slot_bytes, most_slot_bytes);
}

}  // namespace

std::uint64_t SequentialWriter::least_bytes(const io::File& file) {
  return io::bytes_in_flight(file.mode(), 2 * least_slot_bytes);
}
std::uint64_t SequentialWriter::least_bytes_of_any() {
  return io::bytes_in_flight(io::Mode::buffered, 2 * least_slot_bytes);
}
std::uint64_t SequentialWriter::most_bytes(const io::File& file) {
  return io::bytes_in_flight(file.mode(), most_slots * most_slot_bytes);
}

SequentialWriter::SequentialWriter(io::File& file, std::uint64_t offset, Lease reserved)
    : file_(file),
      // A Writer keeps this while it is open: half of what is left is for whoever makes what it writes.
      staging_{std::min(most_bytes(file), reserved.bytes() + Budget::process().spare_bytes() / 2), std::move(reserved)},
      slot_bytes_(slot_bytes_for(file, staging_.size_bytes())),
      slot_offset_(round_down(offset, io::direct_align)),
      filled_(offset - slot_offset_),
      driver_({.mode = file.mode(), .depth = most_slots}, [this](const Arrival& arrival) {
        if (arrival.move.tag != slot_)
          free_.push_back(arrival.move.tag);  // the current one is written early by flush()
        if (arrival.error == 0 || failed_) return;
        try {
          arrival.check();
        } catch (...) {  // told at the next call: it may come while nobody waits
          failed_ = std::current_exception();
        }
      }) {
  const std::size_t count = io::memory_in_flight(file.mode(), staging_.size_bytes()) / slot_bytes_;
  free_.reserve(most_slots);
  for (std::size_t i = std::min(count, most_slots); i > 1; --i) free_.push_back(i - 1);
  if (filled_ > 0) io::read_fully(file, staging_.data(), slot_offset_, io::direct_align, filled_);
}

void SequentialWriter::check_arrived() const {
  if (failed_) std::rethrow_exception(failed_);
}

// Where nothing is on its way to the disk.
std::uint64_t SequentialWriter::give_back() {
  driver_.look();
  const std::uint64_t least = io::bytes_in_flight(file_.mode(), slot_bytes_);
  const std::uint64_t before = staging_.size_bytes();
  if (driver_.in_flight() > 0 || before <= least || !staging_.can_shrink()) return 0;
  free_.clear();
  if (slot_ == no_slot) {
    free_.push_back(0);
  } else if (slot_ > 0) {
    std::memcpy(staging_.data(), staging_.data() + slot_ * slot_bytes_, filled_);
    slot_ = 0;
  }
  staging_.shrink(least);
  return before - staging_.size_bytes();
}

void SequentialWriter::append(const std::byte* data, std::uint64_t bytes) {
  const ForSpeed::Use use(for_speed_);
  while (bytes > 0) {
    if (slot_ == no_slot) take_slot();
    const std::uint64_t n = std::min(bytes, slot_bytes_ - filled_);
    std::memcpy(staging_.data() + slot_ * slot_bytes_ + filled_, data, n);
    filled_ += n;
    data += n;
    bytes -= n;
    if (filled_ == slot_bytes_) {
      send(slot_bytes_);
      slot_offset_ += slot_bytes_;
      filled_ = 0;
      slot_ = no_slot;  // it may come back before those sent earlier, and is free then
    }
  }
  interrupt_point();
  check_arrived();
}

void SequentialWriter::flush() {
  const ForSpeed::Use use(for_speed_);
  if (filled_ > 0) {
    std::byte* room = staging_.data() + slot_ * slot_bytes_;
    const std::uint64_t whole = round_up(filled_, io::direct_align);
    std::memset(room + filled_, 0, whole - filled_);
    send(whole);
  }
  driver_.finish();
  check_arrived();
  if (filled_ >= io::direct_align) {  // only the unfinished unit stays, to be written again when it is full
    std::byte* room = staging_.data() + slot_ * slot_bytes_;
    const std::uint64_t written = round_down(filled_, io::direct_align);
    std::memmove(room, room + written, filled_ - written);
    slot_offset_ += written;
    filled_ -= written;
  }
}

void SequentialWriter::send(std::uint64_t bytes) {
  driver_.start({.file = &file_,
                 .kind = io::Request::Kind::write,
                 .extent = {.begin = slot_offset_, .end = slot_offset_ + bytes},
                 .memory = staging_.data() + slot_ * slot_bytes_,
                 .tag = slot_});
}

void SequentialWriter::take_slot() {
  while (free_.empty()) driver_.settle();
  check_arrived();
  slot_ = free_.back();
  free_.pop_back();
}

}  // namespace lowtide
