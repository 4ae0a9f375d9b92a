#include "lowtide/cli/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "lowtide/base/units.h"
#include "lowtide/cli/terminal.h"

namespace lowtide::cli {
namespace {

// The library's second line speaks Python.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string hint_of(const BudgetError& e) {
  // Bytes held when the refusal came are in the library's own hint; an operation may need a little more at its next step.
  const std::string text = e.what();
  std::uint64_t enough_mib = (e.needed_bytes() + 1_MiB - 1) / 1_MiB;
  const std::string call = "set_budget(\"";
  if (const auto at = text.find(call); at != std::string::npos)
    enough_mib = std::max<std::uint64_t>(enough_mib, std::strtoull(text.c_str() + at + call.size(), nullptr, 10));
  return fmt::format("add --budget {}MiB", std::max<std::uint64_t>(enough_mib, 16));
}

Failure failure_of(const IoError& e) {
  if (e.code() == EEXIST) return {"IoError", e.path() + " exists already", "add --force to replace it", Exit::problem};
  return {"IoError", first_line(e.what()), "", Exit::problem};
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const CancelledError&) {
    throw;
  } catch (const UsageError& e) {
    return {"UsageError", e.what(), e.hint(), Exit::wrong_use};
  } catch (const HintedFormatError& e) {
    return {"FormatError", e.what(), e.hint(), Exit::problem};
  } catch (const BudgetError& e) {
    return {"BudgetError", first_line(e.what()), hint_of(e), Exit::problem};
  } catch (const IoError& e) {
    return failure_of(e);
  } catch (const FormatError& e) {
    return {"FormatError", first_line(e.what()), "", Exit::problem};
  } catch (const DataChangedError& e) {
    return {"DataChangedError", first_line(e.what()), "", Exit::problem};
  } catch (const UnsupportedError& e) {
    return {"UnsupportedError", first_line(e.what()), "", Exit::problem};
  } catch (const std::invalid_argument& e) {
    return {"UsageError", first_line(e.what()), "", Exit::wrong_use};
  } catch (const std::bad_alloc&) {
    return {"MemoryError", "the system refused to give memory", "lower --budget, or raise the limit (ulimit -v)",
            Exit::problem};
  } catch (const std::exception& e) {
    return {"Error", first_line(e.what()), "", Exit::problem};
  }
}

void print_failure(const Failure& failure) {
  const Style style(stderr);
  std::string text = fmt::format("{} {}\n", style.red("lowtide:"), failure.message);
  if (!failure.hint.empty()) text += fmt::format("  {} {}\n", style.dim("hint:"), failure.hint);
  std::fputs(text.c_str(), stderr);
}

}  // namespace lowtide::cli
