#include "lowtide/array/read_ahead.h"

#include <algorithm>
#include <vector>

#include "lowtide/base/units.h"
#include "lowtide/io/queue.h"
#include "lowtide/memory/block_cache.h"

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
  Lease page_cache;  // what the requests occupy there while in flight, in modes that go through it
  if (!io::is_direct(file.mode())) {
    page_cache = Budget::process().try_take((last - first + 1) * piece_bytes, Purpose::staging);
    if (!page_cache) return;
  }
  std::vector<Wanted> wanted;
  wanted.reserve(last - first + 1);
  for (std::uint64_t piece = first; piece <= last && piece * piece_bytes < file_bytes; ++piece) {
    if (cache.contains({content, piece})) continue;
    Block block = cache.room();
    if (!block) break;
    wanted.push_back({piece, std::min(piece_bytes, file_bytes - piece * piece_bytes), std::move(block)});
  }
  {
    io::Queue queue(file.mode());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      queue.push({.file = &file,
                  .kind = io::Request::Kind::read,
                  .memory = wanted[i].block.data(),
                  .offset = wanted[i].piece * piece_bytes,
                  .bytes = static_cast<std::uint32_t>(piece_bytes),
                  .least_bytes = static_cast<std::uint32_t>(wanted[i].bytes),
                  .tag = i});
    }
    while (queue.in_flight() > 0) {
      for (const io::Completion& c : queue.wait()) {
        if (c.error != 0) wanted[c.tag].bytes = 0;  // nobody asked for all of it: the exact read says what concerns it
      }
    }
  }
  for (Wanted& w : wanted) {
    if (w.bytes > 0) cache.insert({content, w.piece}, std::move(w.block), w.bytes);
  }
}

}  // namespace

std::uint64_t ReadAhead::window_for(std::uint64_t offset, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const bool continues = offset >= last_end_ && offset - last_end_ < io::direct_align && last_end_ > 0;
  last_end_ = offset + bytes;
  window_bytes_ = continues ? std::clamp(window_bytes_ * 2, piece_bytes, most_window_bytes) : 0;
  return window_bytes_;
}

bool ReadAhead::serve(io::File& file, std::uint64_t offset, std::uint64_t bytes, std::byte* out) {
  BlockCache& cache = BlockCache::process();
  if (cache.copy(file.content_id(), offset, bytes, out)) {
    const std::lock_guard lock(mutex_);
    last_end_ = offset + bytes;
    return true;
  }
  std::uint64_t window = window_for(offset, bytes);
  if (window == 0 && cache.missed_before({file.content_id(), offset / piece_bytes})) window = piece_bytes;
  if (window == 0 || file.is_cached(offset, bytes)) return false;
  bring_in(file, offset / piece_bytes, (offset + std::max(window, bytes) - 1) / piece_bytes);
  return cache.copy(file.content_id(), offset, bytes, out);
}

}  // namespace lowtide
