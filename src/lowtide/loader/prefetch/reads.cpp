#include "lowtide/loader/prefetch/reads.h"

#include <algorithm>

#include "lowtide/base/units.h"
#include "lowtide/transfer/warm_maps.h"

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
    : memory_(options.memory),
      slot_bytes_(options.slot_bytes),
      maps_(options.maps),
      receiver_(receiver),
      driver_({.mode = options.mode,
               .depth = most_slots,
               .slots = options.memory,
               .slot_bytes = options.slot_bytes,
               .pin = true,
               .maps = options.maps},
              [this](const Arrival& arrival) { arrived(arrival); }) {}

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

Extent Reads::next_extent(const Job& job) const {
  const Part& first = job.parts[job.started];
  Extent extent{first.offset, first.offset + first.bytes, job.started, job.started + 1};
  const std::uint64_t unit = first.file->read_unit();
  while (extent.last < job.parts.size() && job.parts[extent.last].file == first.file) {
    const Part& part = job.parts[extent.last];
    if (!extent.join({part.offset, part.offset + part.bytes}, slot_bytes_, unit)) break;
  }
  return extent;
}

void Reads::start() {
  while (!waiting_.empty() && !driver_.full()) {
    Job& job = *waiting_.front();
    try {
      if (maps_ && job.started == 0 && driver_.in_flight() == 0) copy_warm(job);
      if (job.started < job.parts.size()) start_extent(job);
    } catch (...) {
      job.error = std::current_exception();
    }
    if (job.error) job.started = job.parts.size();
    if (job.started < job.parts.size()) continue;
    waiting_.pop_front();
    end_if_done(job);
  }
}

void Reads::start_extent(Job& job) {
  const Extent extent = next_extent(job);
  io::File& file = *job.parts[extent.first].file;
  const auto tag = reinterpret_cast<std::uintptr_t>(&job);
  ++job.in_flight;  // what is cached arrives at once: a job does not end while it is being started
  ++job.in_flight;
  try {
    driver_.start({.file = &file, .extent = extent, .unit = file.read_unit(), .tag = tag});
    job.started = extent.last;
  } catch (...) {
    --job.in_flight;
    job.error = std::current_exception();
  }
  --job.in_flight;
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
      if (used_bytes + part.bytes > memory_.size()) break;
      copies.push_back({memory_.data() + used_bytes, part.offset, part.bytes});
      used_bytes = round_up(used_bytes + part.bytes, 64);
    }
    if (!map->copy(file, copies)) return;
    for (std::size_t i = 0; i < copies.size(); ++i) {
      const Part& part = job.parts[job.started + i];
      receiver_.arrived(*job.batch, job.batch->pieces[part.piece], part.at,
                        {copies[i].to, static_cast<std::size_t>(part.bytes)});
    }
    job.started = last;
  }
}

void Reads::arrived(const Arrival& arrival) {
  Job& job = *reinterpret_cast<Job*>(arrival.move.tag);
  --job.in_flight;
  try {
    arrival.check();
    for (std::size_t i = arrival.move.extent.first; i < arrival.move.extent.last && !job.error; ++i) {
      const Part& part = job.parts[i];
      receiver_.arrived(*job.batch, job.batch->pieces[part.piece], part.at,
                        {arrival.memory + (part.offset - arrival.offset), static_cast<std::size_t>(part.bytes)});
    }
  } catch (...) {
    if (!job.error) job.error = std::current_exception();
  }
  end_if_done(job);
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
