// What of a machine decides where memory goes: allocator settings, kernel knobs, limits, versions.
//
//   Json facts = machine_facts();            // {"cpu.count": 8, "malloc.arena_max": "unset", …}: flat, so that two compare line by line
//   machine_document(facts);                 // as `lowtide doctor machine --json` prints it
//
// Thread-safe. Reads files of /proc and /sys; runs nothing.
#pragma once

#include <string>
#include <string_view>

#include "lowtide/doctor/timeline/timeline.h"

namespace lowtide::doctor {

constexpr int machine_schema = 1;

// Of this process, or as process `pid` sees it (its environment, maps and limits).
Json machine_facts(int pid = 0);
Json machine_document(const Json& facts);
// Throws FormatError; takes a machine document, or a report that holds one under "machine". `name` is for the message.
Json parse_machine(std::string_view text, const std::string& name);
Json load_machine(const std::string& path);

}  // namespace lowtide::doctor
