// How an operation that Budget::take() is told of begins, where a refusal should say how to read less at a time.
//
//   budget.take(bytes, Purpose::results, std::string(reading_an_array) + path);
#pragma once

#include <string_view>

namespace lowtide {

inline constexpr std::string_view reading_an_array = "reading ";
inline constexpr std::string_view reading_blocks = "blocks of ";
inline constexpr std::string_view reading_a_map = "reading a map of ";

}  // namespace lowtide
