#include "lowtide/transfer/read_ahead.h"

#include <algorithm>
#include <vector>

#include "lowtide/base/units.h"
#include "lowtide/memory/block_cache.h"
#include "lowtide/transfer/driver.h"
#include "lowtide/transfer/whole_files.h"

namespace lowtide {
namespace {

constexpr std::uint64_t piece_bytes = BlockCache::piece_bytes;
constexpr std::uint64_t most_window_bytes = 4_MiB;

struct Wanted {
  std::uint64_t piece;
  std::uint64_t bytes;  // that the file has of it
  Block block;
};

// Reads what is not kept yet of the pieces [first, last] that the file has.
void bring_in(io::File& file, std::uint64_t first, std::uint64_t last) {
  BlockCache& cache = BlockCache::process();
  const std::uint64_t content = file.content_id();
  const std::uint64_t file_bytes = file.size_bytes();
  const std::uint64_t bytes = (last - first + 1) * piece_bytes;
  const Lease page_cache =
      Budget::process().try_take(io::bytes_in_flight(file.mode(), bytes) - bytes, Purpose::staging);
  if (!page_cache) return;
  std::vector<Wanted> wanted;
  wanted.reserve(last - first + 1);
  for (std::uint64_t piece = first; piece <= last && piece * piece_bytes < file_bytes; ++piece) {
    if (cache.contains({content, piece})) continue;
    Block block = cache.room();
    if (!block) break;
    wanted.push_back({piece, std::min(piece_bytes, file_bytes - piece * piece_bytes), std::move(block)});
  }
  {
    Driver driver({.mode = file.mode(), .depth = wanted.size()}, [&](const Arrival& arrival) {
      // Nobody asked for all of it: the exact read says what concerns it.
      if (arrival.error != 0) wanted[arrival.move.tag].bytes = 0;
    });
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::uint64_t begin = wanted[i].piece * piece_bytes;
      driver.start({.file = &file,
                    .extent = {.begin = begin, .end = begin + wanted[i].bytes},
                    .memory = wanted[i].block.data(),
                    .tag = i});
    }
    driver.finish();
  }
  for (Wanted& w : wanted) {
    if (w.bytes > 0) cache.insert({content, w.piece}, std::move(w.block), w.bytes);
  }
}

}  // namespace

std::uint64_t ReadAhead::window_for(std::uint64_t offset, std::uint64_t bytes) {
  const std::uint64_t end = last_end_.exchange(offset + bytes);
  const bool continues = offset >= end && offset - end < io::direct_align && end > 0;
  const std::uint64_t window = continues ? std::clamp(window_bytes_ * 2, piece_bytes, most_window_bytes) : 0;
  window_bytes_ = window;
  return window;
}

bool ReadAhead::serve(io::File& file, std::uint64_t offset, std::uint64_t bytes, std::byte* out) {
  BlockCache& cache = BlockCache::process();
  if (cache.copy(file.content_id(), offset, bytes, out)) {
    last_end_ = offset + bytes;
    return true;
  }
  std::uint64_t window = window_for(offset, bytes);
  if (window == 0 && cache.missed_before({file.content_id(), offset / piece_bytes})) window = piece_bytes;
  if (file.is_cached(offset, bytes) || !file.stamp_tells()) return false;
  if (window == 0) {
    WholeFiles::process().note(file);
    return false;
  }
  bring_in(file, offset / piece_bytes, (offset + std::max(window, bytes) - 1) / piece_bytes);
  return cache.copy(file.content_id(), offset, bytes, out);
}

}  // namespace lowtide
