// What an Array is made of, for the code of this layer and the bindings' adapters.
#pragma once

#include "lowtide/array.h"
#include "lowtide/array/source.h"

namespace lowtide {

struct ArrayState {
  Source source;
  Selection selection;
  bool writable = false;
};

}  // namespace lowtide
