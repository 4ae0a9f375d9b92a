#include "lowtide/doctor/probe/text_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace lowtide::doctor {

std::optional<std::string> read_text(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  std::string text;
  std::array<char, 16384> piece;
  ssize_t count = 0;
  while ((count = read(fd, piece.data(), piece.size())) > 0 || (count < 0 && errno == EINTR)) {
    if (count > 0) text.append(piece.data(), static_cast<std::size_t>(count));
  }
  close(fd);
  if (count < 0) return std::nullopt;
  return text;
}

std::optional<std::uint64_t> leading_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::uint64_t field_bytes(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(name) || line.size() <= name.size()) continue;
    const char mark = line[name.size()];
    if (mark != ':' && mark != ' ') continue;
    line.remove_prefix(name.size() + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const std::uint64_t value = leading_number(line).value_or(0);
    return line.ends_with(" kB") ? value * 1024 : value;
  }
  return 0;
}

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1));
}

}  // namespace lowtide::doctor
