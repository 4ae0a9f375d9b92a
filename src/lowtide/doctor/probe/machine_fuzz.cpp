// Any bytes are refused by an error of lowtide's own or give facts that can be compared with others.
#include <cstdint>
#include <string_view>

#include "lowtide/doctor/probe/machine.h"
#include "lowtide/doctor/rule/machine_difference.h"
#include "lowtide/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lowtide;
  try {
    const doctor::Json facts = doctor::parse_machine({reinterpret_cast<const char*>(data), size}, "fuzz");
    doctor::machine_differences(facts, doctor::Json::object({{"memory.total", 1}}), "page_cache");
  } catch (const Error&) {
  }
  return 0;
}
