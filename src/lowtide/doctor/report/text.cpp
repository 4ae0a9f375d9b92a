#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "lowtide/base/units.h"
#include "lowtide/doctor/report/report.h"

namespace lowtide::doctor {
namespace {

constexpr std::size_t narrowest = 40, widest = 100;

// UTF-8: continuation bytes take no column.
std::size_t columns_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string wrapped(const std::string& text, std::size_t columns, const std::string& first, const std::string& rest) {
  std::string out, line = first;
  std::istringstream words(text);
  bool any = false;
  for (std::string word; words >> word;) {
    if (any && columns_of(line) + 1 + columns_of(word) > columns) {
      out += line + "\n";
      line = rest;
      any = false;
    }
    line += (any ? " " : "") + word;
    any = true;
  }
  return out + line + "\n";
}

std::string painted(bool color, const char* code, const std::string& text) {
  return color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

}  // namespace

std::string signed_bytes(std::int64_t bytes) {
  if (bytes == 0) return "0";
  return (bytes > 0 ? "+" : "-") + format_bytes(static_cast<std::uint64_t>(bytes > 0 ? bytes : -bytes));
}

std::string text_report(const Verdict& v, const TextStyle& style) {
  const std::size_t columns = std::clamp(style.columns, narrowest, widest);
  const char* code = v.leak ? "1;31" : v.kind == "unexplained" ? "1;33" : "1;32";
  std::string text = painted(style.color, code, wrapped(v.summary, columns, "", "  "));
  const auto list = [&](const std::string& title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    text += "\n" + painted(style.color, "1", title) + "\n";
    for (const std::string& line : lines) text += wrapped(line, columns, "  - ", "    ");
  };
  if (!v.claims.empty()) {
    text +=
        "\n" +
        painted(style.color, "1", fmt::format("Growth from {:.1f} s to {:.1f} s, of {}", v.from_s, v.to_s, v.charged)) +
        "\n";
    for (const Claim& c : v.claims)
      text += wrapped(fmt::format("{}{}", c.label, c.growing ? ", still growing" : ""), columns,
                      fmt::format("  {:>12}  {:<13} ", signed_bytes(c.bytes), c.kind), std::string(30, ' '));
    text += fmt::format("  {:>12}  {:<13} (now {})\n", signed_bytes(v.bytes), "together",
                        format_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(0, v.level_bytes))));
  }
  list("Evidence", v.evidence);
  if (!v.where.empty())
    text += "\n" + painted(style.color, "1", "Where") + "\n" + wrapped(v.where, columns, "  ", "    ");
  if (!v.fix.empty()) text += "\n" + painted(style.color, "1", "Fix") + "\n" + wrapped(v.fix, columns, "  ", "    ");
  list("Not seen", v.blind);
  return text;
}

}  // namespace lowtide::doctor
