#include "lowtide/loader/prefetch/prefetch_state.h"

#include <algorithm>

#include "lowtide/base/units.h"
#include "lowtide/loader/prefetch/reads.h"

namespace lowtide {
namespace {

constexpr std::uint64_t most_ahead_bytes = 64_MiB;
// Where the disk is not waited for: no more than the processor's cache can hold.
constexpr std::size_t first_ahead = 8;
constexpr std::uint64_t first_ahead_bytes = 2_MiB;
constexpr std::uint64_t most_staging_bytes = 16_MiB;

}  // namespace

PrefetchState::PrefetchState(const MakerTraits& traits)
    : most_ahead(std::max<std::size_t>(traits.most_ahead, 1)), target(1), pin(traits.pin) {
  Budget& budget = Budget::process();
  const std::uint64_t batch = round_up(std::max<std::uint64_t>(traits.batch_bytes, 1), page_bytes);
  slot_bytes = Reads::slot_bytes_for(traits.read_bytes);
  // A loop's variable keeps one batch while the next is made.
  Lease paid = budget.take(2 * batch + io::bytes_in_flight(traits.mode, slot_bytes), Purpose::read_ahead, traits.what);
  for (int i = 0; i < 2; ++i) {
    kept.push_back(Block::allocate(paid.split(batch, Purpose::read_ahead)));
    count(kept.back());
  }
  const std::uint64_t spare = budget.spare_bytes();
  const std::uint64_t most_slots =
      io::bytes_in_flight(traits.mode, std::min(most_staging_bytes, slot_bytes * Reads::most_slots));
  paid.absorb(budget.try_take_between(page_bytes, std::min(spare / 4, most_slots), Purpose::read_ahead));
  paid.shrink(round_down(paid.bytes(), page_bytes));
  staging = Block::allocate(std::move(paid));
  slots_bytes = io::memory_in_flight(traits.mode, staging.size_bytes());
  most_line_bytes = std::max(2 * batch, std::min(most_ahead_bytes, budget.limit_bytes() / 4));
  target = std::min(most_ahead, std::clamp<std::size_t>(first_ahead_bytes / batch, 2, first_ahead));
  ForkEntry::Hooks hooks = fork_hooks<PrefetchState>();
  hooks.forget = [](void* state) { static_cast<PrefetchState*>(state)->forget(); };
  entry.emplace(ForkRank::prefetch, this, hooks);
}

bool PrefetchState::has_room() const { return line.empty() || (line.size() < target && line_bytes < most_line_bytes); }

bool PrefetchState::has_block(std::uint64_t bytes) const {
  return std::any_of(kept.begin(), kept.end(), [&](const Block& block) { return block.size_bytes() >= bytes; });
}

Block PrefetchState::reuse(std::uint64_t bytes) {
  for (auto at = kept.rbegin(); at != kept.rend(); ++at) {
    if (at->size_bytes() < bytes) continue;
    Block block = std::move(*at);
    kept.erase(std::next(at).base());
    return block;
  }
  return {};
}

void PrefetchState::keep(Block block, std::vector<Block>& unwanted) noexcept {
  if (stop || kept.size() >= most_kept) {
    discount(block);
    unwanted.push_back(std::move(block));
    return;
  }
  block.repurpose(Purpose::read_ahead);
  kept.push_back(std::move(block));
}

void PrefetchState::count(Block& block) {
  if (pin && block.pin()) pinned_bytes += block.size_bytes();
  held_bytes += block.size_bytes();
  peak_bytes = std::max(peak_bytes, held_bytes);
}

void PrefetchState::discount(const Block& block) {
  if (block.pinned()) pinned_bytes -= block.size_bytes();
  held_bytes -= block.size_bytes();
}

void PrefetchState::come_back(Block block) noexcept {
  std::vector<Block> unwanted;  // freed after the lock is gone
  const std::lock_guard lock(mutex);
  keep(std::move(block), unwanted);
  if (sleeping && starved_bytes > 0) work.notify_one();
}

void PrefetchState::forget() {
  std::vector<Block> unwanted;
  const std::lock_guard lock(mutex);
  stop = true;
  unwanted.swap(kept);
  unwanted.push_back(std::move(staging));
  for (auto& place : line) {
    unwanted.push_back(std::move(place->batch.block));
    (void)place.release();  // the thread that is not here may have been changing the rest of it
  }
  line.clear();
}

std::shared_ptr<void> lend(const std::shared_ptr<PrefetchState>& state, Block block) {
  block.repurpose(Purpose::results);
  return {new Block(std::move(block)), [state](void* pointer) {
            const std::unique_ptr<Block> dropped(static_cast<Block*>(pointer));
            state->come_back(std::move(*dropped));
          }};
}

}  // namespace lowtide
