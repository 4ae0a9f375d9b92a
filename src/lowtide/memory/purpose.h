// What budget bytes are held for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lowtide {

enum class Purpose : std::uint8_t { results, cache, staging, read_ahead, write_behind, index };
inline constexpr std::size_t purpose_count = 6;
std::string_view name(Purpose purpose);

// Given back when an operation ends, whatever its caller does.
constexpr bool transient(Purpose purpose) { return purpose == Purpose::staging; }

}  // namespace lowtide
