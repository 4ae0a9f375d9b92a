// What the doctor says of a run.
//
//   Verdict verdict = judge(timeline);
//   verdict.leak, verdict.kind                     // false, "mapped_files"
//   verdict.parts                                  // kind → bytes; they add up to verdict.bytes
//
// Thread-safe: judge() is a pure function of the timeline.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/doctor/timeline/timeline.h"

namespace lowtide::doctor {

// One line of the table: bytes of one kind, and what is known of them.
struct Claim {
  std::string kind;
  std::int64_t bytes = 0;
  std::string label;     // what it is, in a few words
  bool growing = false;  // still, when the watch ended
  std::string where;     // file:line, object, or file; may be empty
  std::vector<std::string> evidence;
};

struct Verdict {
  bool leak = false;
  std::string kind = "flat";
  std::int64_t bytes = 0;                     // growth between from_s and to_s
  std::int64_t level_bytes = 0;               // at to_s
  std::map<std::string, std::int64_t> parts;  // without those of zero
  std::vector<Claim> claims;                  // the table, largest first
  std::optional<double> per_step_bytes;       // of the kind that leaks, where one does
  std::optional<double> per_second_bytes;     // of everything
  std::uint64_t step_count = 0;
  std::optional<double> seconds_to_limit;
  std::uint64_t limit_bytes = 0;
  std::string where, fix, summary;  // summary: the sentence that a person reads first
  std::vector<std::string> evidence, blind;
  double confidence = 0;        // 0 … 1
  double from_s = 0, to_s = 0;  // since the watch began
  std::string charged;          // what the table adds up to: "the container's charge" or "the tree's memory"
};

struct JudgeOptions {
  std::uint64_t limit_bytes = 0;  // 0: the container's, or none
};
Verdict judge(const Timeline& timeline, const JudgeOptions& options = {});

}  // namespace lowtide::doctor
