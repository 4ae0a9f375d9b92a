// Two machines side by side: only what differs, and first what is known to matter for a signature.
//
//   for (const Difference& d : machine_differences(good, bad, "allocator")) …     // d.key, d.a, d.b, d.why, d.fix
//
// Thread-safe: pure function.
#pragma once

#include <string>
#include <vector>

#include "lowtide/doctor/timeline/timeline.h"

namespace lowtide::doctor {

struct Difference {
  std::string key, a, b;
  std::string why;  // how it changes memory; empty where that is not known
  std::string fix;  // the line that makes them equal; may be empty
  int rank = 0;     // higher matters more
};
// `kind` is that of a verdict, or empty.
std::vector<Difference> machine_differences(const Json& a, const Json& b, const std::string& kind);

}  // namespace lowtide::doctor
