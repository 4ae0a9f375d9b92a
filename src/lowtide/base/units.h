// Byte counts as people write and read them.
//
//   std::uint64_t bytes = 64_MiB;
//   format_bytes(bytes);                          // "64 MiB"
//   parse_bytes_with("25%", available_bytes);     // a quarter of what is available
//
// Thread-safe: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lowtide {

constexpr std::uint64_t operator""_KiB(unsigned long long count) { return count << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long count) { return count << 20; }
constexpr std::uint64_t operator""_GiB(unsigned long long count) { return count << 30; }

// "12 bytes", "640 KiB", "1.5 GiB": the largest binary unit, at most one decimal.
std::string format_bytes(std::uint64_t bytes);

// A decimal number, then a unit in upper or lower case: none or B (bytes), KiB to PiB or Ki to Pi (powers of 1024), KB to
// PB or K to P (powers of 1000, as in Kubernetes; Docker means more by them), or % of available_bytes (at most 100).
// Rounded down to whole bytes. Throws std::invalid_argument, whose message shows what to type.
std::uint64_t parse_bytes_with(std::string_view text, std::uint64_t available_bytes);

}  // namespace lowtide
