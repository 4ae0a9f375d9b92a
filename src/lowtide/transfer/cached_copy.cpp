#include "lowtide/transfer/cached_copy.h"

#include "lowtide/base/fault.h"
#include "lowtide/error.h"
#include "lowtide/io/transfer.h"
#include "lowtide/transfer/warm_maps.h"

namespace lowtide {
namespace {

bool fails_for_a_test() { return fault::at(fault::Stage::submit) > 0 || fault::at(fault::Stage::complete) > 0; }

}  // namespace

bool copy_cached(io::File& file, std::byte* to, Span range, bool maps) {
  if (!file.is_cached(range.begin, range.bytes()) || fails_for_a_test()) return false;
  if (!file.wholly_cached()) {
    const auto map = maps ? WarmMaps::process().map(file) : nullptr;
    const io::WarmMap::Copy copy{to, range.begin, range.bytes()};
    return map && map->copy(file, {&copy, 1});
  }
  try {
    io::read_cached_fully(file, to, range.begin, range.bytes());
  } catch (const Error&) {  // the disk says what it means
    return false;
  }
  return true;
}

}  // namespace lowtide
