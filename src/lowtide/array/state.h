// What an Array is made of: the source of its elements, and which of them it names.
//
//   Array view(std::make_shared<const ArrayState>(source, source->whole(), /*writable=*/false));
//
// Immutable.
#pragma once

#include <atomic>
#include <memory>

#include "lowtide/array.h"
#include "lowtide/index/selection.h"
#include "lowtide/source/source.h"

namespace lowtide {

struct ArrayState {
  // Throws BudgetError if so many are held that the budget cannot pay for this one.
  ArrayState(std::shared_ptr<const Source> source_, Selection selection_, bool writable_);
  ~ArrayState();
  ArrayState(const ArrayState&) = delete;
  ArrayState& operator=(const ArrayState&) = delete;

  std::shared_ptr<const Source> source;
  Selection selection;
  bool writable;

 private:
  Lease lease_;
};

}  // namespace lowtide
