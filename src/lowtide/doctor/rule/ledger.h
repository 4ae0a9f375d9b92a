// The table while rules fill it: what is left to explain of each pool, and the claims made so far.
//
//   ledger.take(Pool::anon, claim);      // the claim gets at most what the pool has left
//
// Pools are growths in bytes and may be negative: what shrank is on the table too, under the pool's own kind. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "lowtide/doctor/rule/case.h"
#include "lowtide/doctor/rule/verdict.h"

namespace lowtide::doctor {

enum class Pool : std::size_t { anon, file, shmem, kernel, device, count };

class Ledger {
 public:
  explicit Ledger(const Case& facts);
  std::int64_t left(Pool pool) const { return pools_[static_cast<std::size_t>(pool)]; }
  // Bytes of the claim are cut to what is left; a claim of less than a page is dropped. Returns what it got.
  std::int64_t take(Pool pool, Claim claim);
  std::int64_t growth() const { return growth_; }
  std::vector<Claim>& claims() { return claims_; }
  // What no rule claimed becomes `unexplained` (or the kind that a pool stands for); the table then adds up exactly.
  void close();

 private:
  std::array<std::int64_t, static_cast<std::size_t>(Pool::count)> pools_{};
  std::int64_t growth_ = 0;
  std::vector<Claim> claims_;
};

// The rules, in the order in which they are asked: facts in, claims out. One file each.
void claim_processes(const Case& facts, Ledger& ledger);
void claim_copy_on_write(const Case& facts, Ledger& ledger);
void claim_heap(const Case& facts, Ledger& ledger);
void claim_files(const Case& facts, Ledger& ledger);
void claim_shared_memory(const Case& facts, Ledger& ledger);
void claim_kernel(const Case& facts, Ledger& ledger);
void claim_device(const Case& facts, Ledger& ledger);

// Code or an environment line to paste.
std::string fix_for(const std::string& kind, const Claim& claim, const Timeline& timeline);

}  // namespace lowtide::doctor
