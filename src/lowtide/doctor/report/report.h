// A verdict as people and programs read it.
//
//   text_report(verdict, {.columns = 80, .color = true});
//   json_report(verdict, timeline);                       // {"schema": 1, "verdict": …, "timeline": …, "machine": …}
//   html_report(verdict, timeline);                       // one page, no network
//
// Thread-safe: pure functions.
#pragma once

#include <string>

#include "lowtide/doctor/rule/verdict.h"
#include "lowtide/doctor/timeline/timeline.h"

namespace lowtide::doctor {

struct TextStyle {
  std::size_t columns = 80;
  bool color = false;
};
std::string text_report(const Verdict& verdict, const TextStyle& style);
Json verdict_json(const Verdict& verdict);
Json json_report(const Verdict& verdict, const Timeline& timeline);
std::string html_report(const Verdict& verdict, const Timeline& timeline);

// "+1.5 GiB", "-12 MiB", "0".
std::string signed_bytes(std::int64_t bytes);

}  // namespace lowtide::doctor
