// Small files of /proc and /sys, whole.
//
//   read_text("/proc/self/status");                 // nothing where the file cannot be read
//   field_bytes(text, "RssAnon");                   // "RssAnon:   123 kB" → 125952
//
// Thread-safe. Never throws for a file that is gone: processes end while they are looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lowtide::doctor {

std::optional<std::string> read_text(const std::string& path);
// The number after "name:" (in bytes where "kB" follows it), or after "name " as memory.stat writes it; 0 where there is none.
std::uint64_t field_bytes(std::string_view text, std::string_view name);
// The first number of a text; nothing for "max" and other words.
std::optional<std::uint64_t> leading_number(std::string_view text);
// Without spaces and line ends around it.
std::string trimmed(std::string_view text);

}  // namespace lowtide::doctor
