#include "lowtide/exec/pass.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "lowtide/base/units.h"
#include "lowtide/io/thread_pool.h"

namespace lowtide {
namespace {

constexpr std::uint64_t least_tile_bytes = 64_KiB;
constexpr std::uint64_t preferred_tile_bytes =
    4_MiB;  // of each operand: long enough for the disk, short enough for a cache to like
constexpr std::uint64_t tiles_ahead = 4;

// LOWTIDE_TILE=4KiB makes every test cross tiles.
std::uint64_t forced_tile_bytes() {
  static const std::uint64_t bytes = [] {
    const char* text = std::getenv("LOWTIDE_TILE");
    return text != nullptr && *text != '\0' ? parse_bytes_with(text, 0) : 0;
  }();
  return bytes;
}

std::uint64_t most_tile_bytes(const Program& program) {
  if (const std::uint64_t forced = forced_tile_bytes()) return forced;
  return preferred_tile_bytes * std::clamp<std::uint64_t>(program.operands.size(), 1, 4);
}

std::uint64_t smallest_tile_bytes(const Program& program) {
  return std::min(least_tile_bytes, most_tile_bytes(program));
}

}  // namespace

Needs Pass::needs(const Program& program, const PlanOptions& options, const BytesBeside& beside) {
  const TilePlan small = plan_tiles(program, smallest_tile_bytes(program), options);
  TilePlan large = plan_tiles(program, most_tile_bytes(program), options);
  large.threads = compute_threads();
  Needs all{round_up(beside(small), page_bytes) + TileStream::memory(small).least_bytes,
            round_up(beside(large), page_bytes) + TileStream::memory(large).most_bytes};
  for (const Needs& one : TileStream::operand_needs(large)) {
    all.least_bytes += one.least_bytes;
    all.most_bytes += one.most_bytes;
  }
  all.most_bytes = std::max(all.least_bytes, all.most_bytes);
  return all;
}

Pass::Pass(const Program& program, const PlanOptions& options, const BytesBeside& beside, Workspace& workspace) {
  std::uint64_t tile_bytes = most_tile_bytes(program);
  plan_ = plan_tiles(program, tile_bytes, options);
  const std::vector<Needs> operand_needs = TileStream::operand_needs(plan_);
  workspace.usable_bytes();  // grows before operands take their shares of it
  std::vector<Workspace*> workspaces;
  for (std::size_t k = 0; k < operand_needs.size(); ++k)
    workspaces.push_back(plan_.operands[k].memory ? nullptr : &workspace.operand(k, operand_needs[k]));
  Staging& staging = workspace.staging();
  const auto beside_bytes = [&] { return round_up(beside(plan_), page_bytes); };
  // Several tiles ahead rather than one large one.
  const auto fits = [&](std::uint64_t tiles) {
    const TileStream::Memory memory = TileStream::memory(plan_);
    const auto whole = static_cast<std::uint64_t>(std::max<std::int64_t>(plan_.tile_count(), 1));
    return beside_bytes() + std::min(memory.most_bytes, memory.least_bytes * std::min(tiles, whole)) <=
           staging.size_bytes();
  };
  std::size_t threads = plan_.threads = compute_threads();
  while (tile_bytes > smallest_tile_bytes(program) && !fits(tiles_ahead)) {
    tile_bytes = std::max(smallest_tile_bytes(program), tile_bytes / 2);
    plan_ = plan_tiles(program, tile_bytes, options);
    plan_.threads = threads;
  }
  while (threads > 1 && !fits(1)) plan_.threads = --threads;
  beside_ = {staging.data(), beside_bytes()};
  tiles_ = std::make_unique<TileStream>(
      plan_, std::span(staging.data() + beside_.size(), staging.size_bytes() - beside_.size()), workspaces);
}

std::size_t compute_threads() {
  static const std::size_t count = io::usable_threads();
  return count;
}

void in_parallel(std::int64_t parts, bool worth_it, std::span<std::byte> scratch, std::size_t scratch_bytes,
                 const std::function<void(std::byte* scratch, std::int64_t part)>& work) {
  std::atomic<std::int64_t> next{0};
  std::atomic<std::size_t> workers{0};
  const auto share = [&] {
    std::byte* mine = scratch.data() + scratch_bytes * workers.fetch_add(1, std::memory_order_relaxed);
    for (std::int64_t part; (part = next.fetch_add(1, std::memory_order_relaxed)) < parts;) work(mine, part);
  };
  const std::size_t affordable = scratch_bytes > 0 ? scratch.size() / scratch_bytes : compute_threads();
  const std::size_t threads =
      std::min({compute_threads(), affordable, static_cast<std::size_t>(std::max<std::int64_t>(parts, 1))});
  if (!worth_it || threads < 2) {
    share();
  } else {
    io::ThreadPool::process().share(threads - 1, share);
  }
}

}  // namespace lowtide
