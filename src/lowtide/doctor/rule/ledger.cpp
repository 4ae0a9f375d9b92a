#include "lowtide/doctor/rule/ledger.h"

#include <algorithm>
#include <cstdlib>

#include "lowtide/base/units.h"

namespace lowtide::doctor {
namespace {

constexpr std::int64_t page = 4096;

std::int64_t sum(const Sample& s, std::uint64_t ProcessSample::* field) {
  std::int64_t total = 0;
  for (const ProcessSample& p : s.processes) total += static_cast<std::int64_t>(p.*field);
  return total;
}

std::int64_t unmapped(const Sample& s) {
  std::int64_t bytes = 0;
  for (const FileSample& f : s.files) bytes += static_cast<std::int64_t>(f.cached - std::min(f.cached, f.mapped));
  return bytes;
}

std::int64_t shm(const Sample& s) {
  return std::max<std::int64_t>(static_cast<std::int64_t>(s.shm_of_tree), sum(s, &ProcessSample::pss_shmem));
}

std::int64_t difference(std::uint64_t after, std::uint64_t before) {
  return static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before);
}

// Of version 1 the kernel's part is what user pages leave of the charge.
std::int64_t kernel_charge(const CgroupSample& c) {
  return c.kernel != 0 ? static_cast<std::int64_t>(c.kernel)
                       : std::max<std::int64_t>(0, difference(c.usage, c.anon + c.file + c.shmem));
}

}  // namespace

Ledger::Ledger(const Case& facts) {
  const Sample &a = facts.first(), &b = facts.last();
  auto& [anon, file, shmem, kernel, device] = pools_;
  growth_ = static_cast<std::int64_t>(facts.total(b) - facts.total(a));
  if (facts.own_cgroup()) {
    anon = difference(b.cgroup.anon, a.cgroup.anon), file = difference(b.cgroup.file, a.cgroup.file);
    shmem = difference(b.cgroup.shmem, a.cgroup.shmem), kernel = kernel_charge(b.cgroup) - kernel_charge(a.cgroup);
  } else {
    anon = sum(b, &ProcessSample::pss_anon) + sum(b, &ProcessSample::swap_pss) - sum(a, &ProcessSample::pss_anon) -
           sum(a, &ProcessSample::swap_pss);
    file = sum(b, &ProcessSample::pss_file) + unmapped(b) - sum(a, &ProcessSample::pss_file) - unmapped(a);
    shmem = shm(b) - shm(a), kernel = sum(b, &ProcessSample::page_tables) - sum(a, &ProcessSample::page_tables);
  }
  device = difference(b.device, a.device);
  growth_ += device;
}

std::int64_t Ledger::take(Pool pool, Claim claim) {
  std::int64_t& left = pools_[static_cast<std::size_t>(pool)];
  claim.bytes = std::clamp<std::int64_t>(claim.bytes, 0, std::max<std::int64_t>(0, left));
  if (claim.bytes < page) return 0;
  left -= claim.bytes;
  claims_.push_back(claim);
  return claim.bytes;
}

void Ledger::close() {
  std::int64_t claimed = 0;
  const auto settle = [&](Pool pool, const char* kind, const char* label) {
    std::int64_t& left = pools_[static_cast<std::size_t>(pool)];
    if (std::abs(left) >= page) claims_.push_back({kind, left, label, false, "", {}}), left = 0;
  };
  settle(Pool::file, "page_cache", "files' pages in the page cache");
  settle(Pool::shmem, "shared_memory", "shared memory");
  settle(Pool::device, "device", "memory of the GPU");
  settle(Pool::kernel, "kernel", "kernel memory: page tables, slab, stacks");
  for (const Claim& c : claims_) claimed += c.bytes;
  if (const std::int64_t residue = growth_ - claimed; residue != 0)
    claims_.push_back({"unexplained", residue, "not explained by anything that was seen", false, "", {}});
  std::stable_sort(claims_.begin(), claims_.end(), [](const Claim& a, const Claim& b) { return a.bytes > b.bytes; });
}

}  // namespace lowtide::doctor
