// Arrays as expressions and expressions as arrays.
//
//   NodePtr x = node_of(array);               // what an expression of it begins with: itself, or the expression that it is
//   Array y = array_of(call(Op::sqrt, …));
//
// Thread-safe.
#pragma once

#include "lowtide/array.h"
#include "lowtide/expr/node.h"

namespace lowtide {

NodePtr node_of(const Array& array);
Array array_of(NodePtr root);
Array array_of_source(std::shared_ptr<const Source> source);

}  // namespace lowtide
