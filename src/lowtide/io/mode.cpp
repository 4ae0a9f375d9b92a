#include "lowtide/io/mode.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace lowtide::io {
namespace {

constexpr std::array<std::string_view, 4> names = {"uring", "threads", "dontcache", "buffered"};

}  // namespace

std::string_view name(Mode mode) { return names[static_cast<std::size_t>(mode)]; }

std::optional<Mode> forced_mode() {
  const char* text = std::getenv("LOWTIDE_IO");
  if (text == nullptr || *text == '\0' || std::string_view(text) == "auto") return std::nullopt;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return static_cast<Mode>(i);
  }
  throw std::invalid_argument(fmt::format("LOWTIDE_IO={}: use auto, uring, threads, dontcache or buffered", text));
}

}  // namespace lowtide::io
