// Text from files and callers, made safe to put in a message.
//
//   in_quotes("a\xff\n");     // "a\xff\x0a", with the double quotes: always ASCII, never long
//
// Thread-safe: pure function.
#pragma once

#include <string>
#include <string_view>

namespace lowtide {

// In double quotes; bytes that are not printable ASCII as \xNN; cut after 40 bytes of text, with "..." for the rest.
std::string in_quotes(std::string_view text);

}  // namespace lowtide
