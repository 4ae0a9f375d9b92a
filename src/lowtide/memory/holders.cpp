#include "lowtide/memory/holders.h"

namespace lowtide {
namespace {

constexpr std::size_t most_idle_shares = 256;  // of threads that have ended, perhaps

bool kept(Purpose purpose) { return !transient(purpose) && purpose != Purpose::cache; }  // the cache is everybody's

}  // namespace

void Holders::make(std::uint32_t thread) {
  if (shares_.size() >= most_idle_shares && !shares_.contains(thread)) forget_idle();
  shares_.try_emplace(thread);
}

void Holders::forget_idle() {
  std::erase_if(shares_, [](const auto& entry) {
    const Share& s = entry.second;
    return s.transient_bytes == 0 && s.kept_bytes == 0 && s.waits == 0 && !s.gone;
  });
}

void Holders::add(std::uint64_t bytes, Purpose purpose, std::uint32_t thread) noexcept {
  const auto found = shares_.find(thread);
  if (found == shares_.end()) return;
  if (transient(purpose)) found->second.transient_bytes += bytes;
  if (kept(purpose)) found->second.kept_bytes += bytes;
}

bool Holders::remove(std::uint64_t bytes, Purpose purpose, std::uint32_t thread) noexcept {
  const auto found = shares_.find(thread);
  if (found == shares_.end()) return true;
  Share& share = found->second;
  if (transient(purpose)) {
    if (share.gone) return false;
    share.transient_bytes -= bytes;
  }
  if (kept(purpose)) share.kept_bytes -= bytes;
  return true;
}

Holders::Expected Holders::of_others(std::uint32_t thread) const {
  Expected expected;
  for (const auto& [other, share] : shares_) {
    if (other == thread || share.waits > 0 || share.gone) continue;
    expected.certain_bytes += share.transient_bytes;
    expected.possible_bytes += share.kept_bytes;
  }
  return expected;
}

std::uint64_t Holders::write_off_others(std::uint32_t thread) noexcept {
  std::uint64_t bytes = 0;
  for (auto& [other, share] : shares_) {
    if (other == thread) continue;
    bytes += share.transient_bytes;
    share = {.kept_bytes = share.kept_bytes, .gone = true};
  }
  return bytes;
}

}  // namespace lowtide
