#include "lowtide/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace lowtide::cli {
namespace {

constexpr std::size_t widest_text = 100;  // longer lines are hard to read whatever the terminal

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

// Cut at spaces into lines of at most `width` bytes; a word that is longer stays whole.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

bool is_terminal(std::FILE* stream) { return isatty(fileno(stream)) != 0; }

std::size_t terminal_columns(std::FILE* stream) {
  winsize size{};
  return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col >= 20 ? size.ws_col : 80;
}

Style::Style(std::FILE* stream) : on_(is_terminal(stream) && !is_set("NO_COLOR")) {
  const char* term = std::getenv("TERM");
  if (term != nullptr && std::strcmp(term, "dumb") == 0) on_ = false;
}

std::string Style::wrap(std::string_view code, std::string_view text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

void Fields::print() const {
  const Style style(stdout);
  std::size_t label_width = 0;
  for (const auto& [label, value] : rows_) label_width = std::max(label_width, label.size());
  const std::size_t indent = 2 + label_width + 2;
  const std::size_t columns = std::min(terminal_columns(stdout), widest_text);
  const std::size_t width =
      is_terminal(stdout) ? std::max<std::size_t>(columns, indent + 20) - indent : std::string::npos;
  std::string text;
  for (const auto& [label, value] : rows_) {
    text += "  " + style.dim(fmt::format("{:<{}}", label, label_width)) + "  ";
    const auto lines = width == std::string::npos ? std::vector{value} : wrapped(value, width);
    for (std::size_t i = 0; i < lines.size(); ++i) text += std::string(i == 0 ? 0 : indent, ' ') + lines[i] + "\n";
  }
  std::fputs(text.c_str(), stdout);
}

}  // namespace lowtide::cli
