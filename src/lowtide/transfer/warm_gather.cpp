#include "lowtide/transfer/warm_gather.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/io/thread_pool.h"
#include "lowtide/transfer/pieces.h"
#include "lowtide/transfer/warm_maps.h"

namespace lowtide {
namespace {

constexpr std::uint64_t most_piece_bytes = 256_KiB;  // a unit of work for a thread
constexpr std::uint64_t worth_a_thread_bytes = 1_MiB;
constexpr std::size_t part_copies = 32;
constexpr std::size_t most_threads = 8;

// Pieces as copies; neighbours in the file that are neighbours in memory too become one (windows given element by element).
std::uint64_t merge(std::span<const Run> pieces, const PieceCopy& copy, std::byte* memory,
                    std::vector<io::WarmMap::Copy>& copies) {
  copies.clear();
  std::uint64_t bytes = 0;
  for (const Run& piece : pieces) {
    const io::WarmMap::Copy next{memory + piece.memory_offset, static_cast<std::uint64_t>(piece.file_offset),
                                 copy.bytes(piece)};
    bytes += next.bytes;
    if (!copies.empty()) {
      io::WarmMap::Copy& last = copies.back();
      if (last.offset + last.bytes == next.offset && last.to + last.bytes == next.to && last.bytes < most_piece_bytes) {
        last.bytes += next.bytes;
        continue;
      }
    }
    copies.push_back(next);
  }
  return bytes;
}

}  // namespace

bool gather_warm(io::File& file, const Walk& walk, std::byte* memory) {
  const auto map = WarmMaps::process().find(file);
  if (!map) return false;
  PieceSource source(walk, most_piece_bytes);
  const PieceCopy copy(source.walk());
  if (!copy.contiguous()) return false;
  const auto most = std::min<std::size_t>(ExtentBatch::most_pieces, static_cast<std::size_t>(walk.run_count) + 1);
  std::vector<Run> pieces(most);
  std::vector<io::WarmMap::Copy> copies;
  copies.reserve(most);
  std::atomic<bool> whole{true};
  while (const std::size_t count = source.next(pieces)) {
    const std::uint64_t bytes = merge(std::span(pieces).first(count), copy, memory, copies);
    std::atomic<std::size_t> next{0};
    const auto part = [&] {
      for (std::size_t begin; whole && (begin = next.fetch_add(part_copies)) < copies.size();) {
        const auto some = std::span(copies).subspan(begin, std::min(part_copies, copies.size() - begin));
        if (!map->copy(file, some)) whole = false;
      }
    };
    const std::size_t threads =
        std::min({io::usable_threads(), most_threads, static_cast<std::size_t>(1 + bytes / worth_a_thread_bytes)});
    if (threads == 1) {
      part();
    } else {
      io::ThreadPool::process().share(threads - 1, part);
    }
    if (!whole) return false;
    interrupt_point();
  }
  return true;
}

}  // namespace lowtide
