// The one number: how many bytes lowtide may hold in this process, page cache included.
//
//   lowtide::set_budget("512MiB");
//   { lowtide::BudgetScope scope("64MiB"); … }      // the same, for a block
//   lowtide::Usage u = lowtide::usage();             // u.held_bytes ≤ u.limit_bytes
//
// Thread-safe: every function. The budget is one for the process, not one a thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace lowtide {

struct Usage {
  std::uint64_t limit_bytes = 0;
  std::uint64_t held_bytes = 0;
  std::uint64_t peak_bytes = 0;                     // highest held_bytes since start or reset_peak()
  std::map<std::string, std::uint64_t> by_purpose;  // "results", "cache", "staging", …; only what is not zero
};

// "512MiB", "2 GB", "25%" (of what is available to this process), "1073741824". Throws std::invalid_argument.
std::uint64_t parse_bytes(std::string_view text);
// "1.5 GiB": for messages.
std::string format_bytes(std::uint64_t bytes);

// Returns the previous limit. What is held already stays held; the next lease sees the new limit.
std::uint64_t set_budget(std::uint64_t bytes);
std::uint64_t set_budget(std::string_view text);
// What does not fit beside results of other threads waits for them: this many seconds since the last time that less was missing than
// ever before, first come, first served; then BudgetError. 2 unless set; 0 refuses at once. Nobody waits for what only its own thread,
// or a thread that waits too, could give back. Returns the previous one.
double set_budget_wait(double seconds);
double budget_wait();
// Set by set_budget(), else LOWTIDE_BUDGET, else half of what is available at first use.
std::uint64_t budget();
// Where the limit came from, in words: "set_budget", "LOWTIDE_BUDGET", "half of 15.2 GiB available".
std::string budget_source();

Usage usage();
void reset_peak();

class BudgetScope {
 public:
  explicit BudgetScope(std::string_view text);
  explicit BudgetScope(std::uint64_t bytes);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  std::uint64_t previous_bytes_;
};

}  // namespace lowtide
