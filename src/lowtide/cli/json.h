// JSON as verbs print it: keys in the order they were added, sizes in bytes as integers.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace lowtide::cli {

using Json = nlohmann::ordered_json;

// A file name need not be UTF-8, JSON must be: other bytes become U+FFFD.
inline void print_json(const Json& json) {
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  std::fputs(text.c_str(), stdout);
}

}  // namespace lowtide::cli
