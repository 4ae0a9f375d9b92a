// The process-wide budget and the public functions on it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "lowtide/base/fork.h"
#include "lowtide/base/units.h"
#include "lowtide/budget.h"
#include "lowtide/memory/available.h"
#include "lowtide/memory/budget.h"

namespace lowtide {
namespace {

constexpr double longest_wait_s = 1e9;  // what a clock can count to

Budget* make_process_budget() {
  auto* budget = new Budget(0);
  const char* text = std::getenv("LOWTIDE_BUDGET");
  if (text != nullptr && *text != '\0') {
    budget->set_limit(parse_bytes(text), "LOWTIDE_BUDGET");
  } else {
    const Available available = available_memory();
    budget->set_limit(available.bytes / 2,
                      fmt::format("half of {} available ({})", format_bytes(available.bytes), available.source));
  }
  return budget;
}

}  // namespace

Budget& Budget::process() { return one_for_process<Budget>(ForkRank::budget, make_process_budget); }

std::uint64_t parse_bytes(std::string_view text) {
  return parse_bytes_with(text, text.find('%') == std::string_view::npos ? 0 : available_memory().bytes);
}

std::uint64_t set_budget(std::uint64_t bytes) { return Budget::process().set_limit(bytes, "set_budget"); }
std::uint64_t set_budget(std::string_view text) { return set_budget(parse_bytes(text)); }

double set_budget_wait(double seconds) {
  if (!(seconds >= 0))
    throw std::invalid_argument(fmt::format("wait must be 0 seconds or more, but it is {}", seconds));
  return Budget::process().set_wait(std::min(seconds, longest_wait_s));
}
double budget_wait() { return Budget::process().wait_s(); }

std::uint64_t budget() { return Budget::process().limit_bytes(); }
std::string budget_source() { return Budget::process().source(); }
Usage usage() { return Budget::process().usage(); }
void reset_peak() { Budget::process().reset_peak(); }

BudgetScope::BudgetScope(std::string_view text) : previous_bytes_(set_budget(text)) {}
BudgetScope::BudgetScope(std::uint64_t bytes) : previous_bytes_(set_budget(bytes)) {}
BudgetScope::~BudgetScope() { set_budget(previous_bytes_); }

}  // namespace lowtide
