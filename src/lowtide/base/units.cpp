#include "lowtide/base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "lowtide/base/checked.h"
#include "lowtide/base/quote.h"

namespace lowtide {
namespace {

struct Unit {
  std::string_view name;  // lower case
  std::uint64_t bytes;
};

constexpr std::array<Unit, 23> units = {{
    {"", 1},
    {"b", 1},
    {"bytes", 1},
    {"kib", 1ULL << 10},
    {"mib", 1ULL << 20},
    {"gib", 1ULL << 30},
    {"tib", 1ULL << 40},
    {"pib", 1ULL << 50},
    {"kb", 1'000},
    {"mb", 1'000'000},
    {"gb", 1'000'000'000},
    {"tb", 1'000'000'000'000},
    {"pb", 1'000'000'000'000'000},
    // As Kubernetes writes them. Docker's k, m and g are powers of 1024: a budget read as the lesser fits there, too.
    {"ki", 1ULL << 10},
    {"mi", 1ULL << 20},
    {"gi", 1ULL << 30},
    {"ti", 1ULL << 40},
    {"pi", 1ULL << 50},
    {"k", 1'000},
    {"m", 1'000'000},
    {"g", 1'000'000'000},
    {"t", 1'000'000'000'000},
    {"p", 1'000'000'000'000'000},
}};

// Not the locale's: a setting must mean the same everywhere.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_space(char c) { return c == ' ' || c == '\t'; }
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

std::optional<std::uint64_t> whole_number(std::string_view digits) {
  std::optional<std::uint64_t> value = 0;
  for (const char c : digits) {
    value = checked_multiply<std::uint64_t>(*value, 10);
    if (value) value = checked_add<std::uint64_t>(*value, static_cast<std::uint64_t>(c - '0'));
    if (!value) break;
  }
  return value;
}

// floor(0.digits * unit_bytes), exactly: a floor of nested floors by 10 is the floor of the whole.
std::uint64_t fraction_of(std::string_view digits, std::uint64_t unit_bytes) {
  std::uint64_t value = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    value = (value + static_cast<std::uint64_t>(*digit - '0') * unit_bytes) / 10;
  }
  return value;
}

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw std::invalid_argument(
      fmt::format("{} is not a size in bytes: {}. Type for example \"512MiB\", \"1.5Gi\", \"2GB\" (10^9), \"25%\" or "
                  "\"1073741824\".",
                  in_quotes(text), why));
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} {}", bytes, bytes == 1 ? "byte" : "bytes");
  constexpr std::array<const char*, 6> names = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would print as 1024.0: that is one of the next unit.
  while (value >= 1023.95 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  std::string number = fmt::format("{:.1f}", value);
  if (number.ends_with(".0")) number.resize(number.size() - 2);
  return fmt::format("{} {}", number, names[unit]);
}

std::uint64_t parse_bytes_with(std::string_view text, std::uint64_t available_bytes) {
  std::string_view rest = trimmed(text);
  if (rest.empty()) refuse(text, "it is empty");
  if (rest.front() == '-') refuse(text, "it is negative");
  const std::string_view whole_digits = take_digits(rest);
  std::string_view fraction_digits;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction_digits = take_digits(rest);
    if (fraction_digits.empty()) refuse(text, "no digit follows the point");
  }
  if (whole_digits.empty()) refuse(text, "it does not begin with a number");
  const auto whole = whole_number(whole_digits);
  if (!whole) refuse(text, "it is larger than 2^64 bytes");

  std::string unit_name(trimmed(rest));
  std::transform(unit_name.begin(), unit_name.end(), unit_name.begin(), lower);
  if (unit_name == "%") {
    const bool beyond =
        *whole > 100 || (*whole == 100 && fraction_digits.find_first_not_of('0') != std::string_view::npos);
    if (beyond) refuse(text, "more than 100% of what is available");
    // Split so that neither product can overflow.
    const std::uint64_t hundredth = available_bytes / 100, remainder = available_bytes % 100;
    const std::uint64_t part = fraction_of(fraction_digits, hundredth);
    return hundredth * *whole + remainder * *whole / 100 + part;
  }
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == unit_name; });
  if (unit == units.end()) refuse(text, fmt::format("unknown unit {}", in_quotes(trimmed(rest))));
  if (unit->bytes == 1 && !fraction_digits.empty()) refuse(text, "a fraction of a byte");
  auto bytes = checked_multiply<std::uint64_t>(*whole, unit->bytes);
  if (bytes) bytes = checked_add<std::uint64_t>(*bytes, fraction_of(fraction_digits, unit->bytes));
  if (!bytes) refuse(text, "it is larger than 2^64 bytes");
  return *bytes;
}

}  // namespace lowtide
