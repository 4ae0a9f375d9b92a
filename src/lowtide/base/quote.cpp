#include "lowtide/base/quote.h"

#include <fmt/format.h>

#include <iterator>

namespace lowtide {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t shown_bytes = 40;
  std::string result = "\"";
  for (const char c : text.substr(0, shown_bytes)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() > shown_bytes) result += "...";
  return result + '"';
}

}  // namespace lowtide
