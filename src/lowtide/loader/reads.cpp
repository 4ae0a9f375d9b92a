#include "lowtide/loader/reads.h"

#include <algorithm>

#include "lowtide/array/range.h"
#include "lowtide/array/walk.h"
#include "lowtide/array/warm_maps.h"
#include "lowtide/base/units.h"
#include "lowtide/io/transfer.h"

namespace lowtide {
namespace {

constexpr std::uint64_t most_slot_bytes = 256_KiB;

}  // namespace

io::Mode common_mode(std::span<const std::shared_ptr<io::File>> files) {
  const bool ring = std::all_of(files.begin(), files.end(), [](const auto& f) { return f->mode() == io::Mode::uring; });
  if (ring) return io::Mode::uring;
  const bool direct = std::all_of(files.begin(), files.end(), [](const auto& f) { return io::is_direct(f->mode()); });
  return direct ? io::Mode::threads : io::Mode::buffered;
}

// A range of this size fits wherever in a unit it starts.
std::uint64_t Reads::slot_bytes_for(std::uint64_t read_bytes) {
  return std::min(round_up(std::max<std::uint64_t>(read_bytes, 1), io::direct_align), most_slot_bytes) +
         io::direct_align;
}

Reads::Reads(const Options& options, ReadReceiver& receiver)
    : memory_(options.memory.data()),
      slot_bytes_(options.slot_bytes),
      maps_(options.maps),
      receiver_(receiver),
      slots_(std::clamp<std::size_t>(options.memory.size() / options.slot_bytes, 1, most_slots)),
      queue_(options.mode) {
  for (std::size_t i = slots_.size(); i > 0; --i) free_.push_back(i - 1);
}

void Reads::add(Batch& batch) {
  auto job = std::make_unique<Job>();
  job->batch = &batch;
  const std::uint64_t most = slot_bytes_ - io::direct_align;
  for (std::size_t i = 0; i < batch.pieces.size(); ++i) {
    const Piece& piece = batch.pieces[i];
    for (std::uint64_t at = 0; at < piece.bytes; at += most)
      job->parts.push_back({piece.file, piece.offset + at, std::min(most, piece.bytes - at), i, at});
  }
  std::sort(job->parts.begin(), job->parts.end(),
            [](const Part& a, const Part& b) { return a.file != b.file ? a.file < b.file : a.offset < b.offset; });
  Job& added = *jobs_.emplace_back(std::move(job));
  if (added.parts.empty()) {
    end_if_done(added);
  } else {
    waiting_.push_back(&added);
  }
}

Reads::Extent Reads::next_extent(const Job& job) const {
  const Part& first = job.parts[job.started];
  Extent extent{job.started, job.started + 1, first.offset, first.offset + first.bytes};
  const std::uint64_t unit = first.file->read_unit();
  for (; extent.last < job.parts.size(); ++extent.last) {
    const Part& part = job.parts[extent.last];
    if (part.file != first.file || part.offset > extent.end + static_cast<std::uint64_t>(widest_gap_bytes)) break;
    const std::uint64_t end = std::max(extent.end, part.offset + part.bytes);
    if (whole_units(extent.begin, end - extent.begin, unit).bytes() > slot_bytes_) break;
    extent.end = end;
  }
  return extent;
}

void Reads::start() {
  while (!waiting_.empty() && !free_.empty()) {
    Job& job = *waiting_.front();
    try {
      if (maps_ && job.started == 0 && queue_.in_flight() == 0) copy_warm(job);
      if (!job.error && job.started < job.parts.size()) start_extent(job, free_.back());
    } catch (...) {
      job.error = std::current_exception();
    }
    if (job.error) job.started = job.parts.size();
    if (job.started < job.parts.size()) continue;
    waiting_.pop_front();
    end_if_done(job);
  }
}

void Reads::start_extent(Job& job, std::size_t index) {
  const Extent extent = next_extent(job);
  io::File& file = *job.parts[extent.first].file;
  std::byte* room = memory_ + index * slot_bytes_;
  io::File::Pin pin = file.pin();
  job.started = extent.last;
  if (copy_cached(file, extent, room)) {
    hand_over(job, extent, room, extent.begin);
    return;
  }
  const Span span = whole_units(extent.begin, extent.end - extent.begin, file.read_unit());
  Slot& slot = slots_[index];
  slot.job = &job;
  slot.extent = extent;
  slot.memory_offset = span.begin;
  slot.pin.emplace(std::move(pin));
  queue_.push({.file = &file,
               .kind = io::Request::Kind::read,
               .memory = room,
               .offset = span.begin,
               .bytes = static_cast<std::uint32_t>(span.bytes()),
               .least_bytes = static_cast<std::uint32_t>(extent.end - span.begin),
               .tag = index});
  free_.pop_back();
  ++job.in_flight;
}

// Parts of a wholly cached file, many with one look at its map: a look costs as much as the copy of a small part. Nothing is in flight,
// so all slots are one piece of memory.
void Reads::copy_warm(Job& job) {
  std::vector<io::WarmMap::Copy> copies;
  while (job.started < job.parts.size()) {
    io::File& file = *job.parts[job.started].file;
    const io::File::Pin pin = file.pin();
    const auto map = WarmMaps::process().find(file);
    if (!map) return;
    copies.clear();
    std::uint64_t used_bytes = 0;
    std::size_t last = job.started;
    for (; last < job.parts.size() && job.parts[last].file == &file; ++last) {
      const Part& part = job.parts[last];
      if (used_bytes + part.bytes > slots_.size() * slot_bytes_) break;
      copies.push_back({memory_ + used_bytes, part.offset, part.bytes});
      used_bytes = round_up(used_bytes + part.bytes, 64);
    }
    if (!map->copy(copies)) return;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const Part& part = job.parts[job.started + i];
      receiver_.arrived(*job.batch, job.batch->pieces[part.piece], part.at,
                        {copies[i].to, static_cast<std::size_t>(part.bytes)});
    }
    job.started = last;
  }
}

bool Reads::copy_cached(io::File& file, const Extent& extent, std::byte* room) {
  const std::uint64_t bytes = extent.end - extent.begin;
  if (!file.is_cached(extent.begin, bytes)) return false;
  io::read_cached_fully(file, room, extent.begin, bytes);
  return true;
}

void Reads::settle() {
  for (const io::Completion& c : queue_.wait()) {
    Slot& slot = slots_[c.tag];
    Job& job = *slot.job;
    io::File& file = *job.parts[slot.extent.first].file;
    try {
      const Extent& extent = slot.extent;
      if (c.error != 0) io::fail_request(file, true, c.error, extent.begin, extent.end - extent.begin, c.bytes);
      if (!job.error) hand_over(job, extent, memory_ + c.tag * slot_bytes_, slot.memory_offset);
    } catch (...) {
      if (!job.error) job.error = std::current_exception();
    }
    slot.pin.reset();
    free_.push_back(c.tag);
    --job.in_flight;
    end_if_done(job);
  }
}

void Reads::hand_over(Job& job, const Extent& extent, const std::byte* room, std::uint64_t room_offset) {
  for (std::size_t i = extent.first; i < extent.last; ++i) {
    const Part& part = job.parts[i];
    receiver_.arrived(*job.batch, job.batch->pieces[part.piece], part.at,
                      {room + (part.offset - room_offset), static_cast<std::size_t>(part.bytes)});
  }
}

// What was read before and after a change does not belong together.
void Reads::check_files(const Job& job) {
  const io::File* last = nullptr;
  for (const Part& part : job.parts) {
    if (part.file == last) continue;
    last = part.file;
    const io::File::Pin pin = part.file->pin();
    part.file->check_unchanged();
  }
}

void Reads::end_if_done(Job& job) {
  if (job.in_flight > 0 || job.started < job.parts.size()) return;
  if (!job.error) {
    try {
      check_files(job);
    } catch (...) {
      job.error = std::current_exception();
    }
  }
  if (job.error) {
    receiver_.failed(*job.batch, job.error);
  } else {
    receiver_.complete(*job.batch);
  }
  std::erase_if(jobs_, [&](const auto& other) { return other.get() == &job; });
}

}  // namespace lowtide
