#include "lowtide/array/sequential_writer.h"

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

std::uint64_t bytes_per_byte(const io::File& file) {
  return io::is_direct(file.mode()) ? 1 : 2;
}  // dirty pages count too

std::uint64_t slot_bytes_for(const io::File& file, std::uint64_t staging_bytes) {
  const std::uint64_t usable = staging_bytes / bytes_per_byte(file);
  return std::clamp(round_down(usable / most_slots, page_bytes), least_slot_bytes, most_slot_bytes);
}

}  // namespace

std::uint64_t SequentialWriter::least_bytes(const io::File& file) {
  return 2 * least_slot_bytes * bytes_per_byte(file);
}
std::uint64_t SequentialWriter::least_bytes_of_any() { return 4 * least_slot_bytes; }
std::uint64_t SequentialWriter::most_bytes(const io::File& file) {
  return most_slots * most_slot_bytes * bytes_per_byte(file);
}

SequentialWriter::SequentialWriter(io::File& file, std::uint64_t offset, Lease reserved)
    : file_(file),
      // A Writer keeps this while it is open: half of what is left is for whoever makes what it writes.
      staging_{std::min(most_bytes(file), reserved.bytes() + Budget::process().spare_bytes() / 2), std::move(reserved)},
      slot_bytes_(slot_bytes_for(file, staging_.size_bytes())),
      slot_offset_(round_down(offset, io::direct_align)),
      filled_(offset - slot_offset_),
      queue_(file.mode()) {
  const std::size_t count = staging_.size_bytes() / bytes_per_byte(file) / slot_bytes_;
  for (std::size_t i = std::min(count, most_slots); i > 1; --i) free_.push_back(i - 1);
  if (filled_ > 0) io::read_fully(file, staging_.data(), slot_offset_, io::direct_align, filled_);
}

void SequentialWriter::append(const std::byte* data, std::uint64_t bytes) {
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
}

void SequentialWriter::flush() {
  if (filled_ > 0) {
    std::byte* room = staging_.data() + slot_ * slot_bytes_;
    const std::uint64_t whole = round_up(filled_, io::direct_align);
    std::memset(room + filled_, 0, whole - filled_);
    send(whole);
  }
  while (queue_.in_flight() > 0) settle();
  if (filled_ >= io::direct_align) {  // only the unfinished unit stays, to be written again when it is full
    std::byte* room = staging_.data() + slot_ * slot_bytes_;
    const std::uint64_t written = round_down(filled_, io::direct_align);
    std::memmove(room, room + written, filled_ - written);
    slot_offset_ += written;
    filled_ -= written;
  }
}

void SequentialWriter::send(std::uint64_t bytes) {
  queue_.push({.file = &file_,
               .kind = io::Request::Kind::write,
               .memory = staging_.data() + slot_ * slot_bytes_,
               .offset = slot_offset_,
               .bytes = static_cast<std::uint32_t>(bytes),
               .least_bytes = 0,
               .tag = slot_});
}

void SequentialWriter::take_slot() {
  while (free_.empty()) settle();
  slot_ = free_.back();
  free_.pop_back();
}

void SequentialWriter::settle() {
  for (const io::Completion& c : queue_.wait()) {
    if (c.error != 0) io::fail_request(file_, false, c.error, slot_offset_, slot_bytes_, c.bytes);
    if (c.tag != slot_) free_.push_back(c.tag);  // the current slot is written early by flush() and kept
  }
}

}  // namespace lowtide
