// Any bytes are refused by an error of lowtide's own or give a timeline on which every rule and report can be run; its table adds up.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "lowtide/doctor/report/report.h"
#include "lowtide/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lowtide;
  try {
    const doctor::Timeline timeline = doctor::parse_timeline({reinterpret_cast<const char*>(data), size}, "fuzz");
    const doctor::Verdict verdict = doctor::judge(timeline);
    doctor::text_report(verdict, {});
    doctor::html_report(verdict, timeline);
    doctor::json_report(verdict, timeline).dump(-1, ' ', false, doctor::Json::error_handler_t::replace);
  } catch (const Error&) {
  }
  return 0;
}
