#include "lowtide/exec/array_node.h"

#include "lowtide/array/state.h"
#include "lowtide/exec/expression_source.h"

namespace lowtide {

NodePtr node_of(const Array& array) {
  const auto* expression = dynamic_cast<const ExpressionSource*>(array.source().get());
  if (expression == nullptr) return leaf(array.source(), array.dtype(), array.selection());
  if (array.selection() == expression->whole()) return expression->root();
  return select(expression->root(), array.selection());
}

Array array_of_source(std::shared_ptr<const Source> source) {
  Selection all = source->whole();
  return Array(std::make_shared<const ArrayState>(std::move(source), std::move(all), false));
}

Array array_of(NodePtr root) {
  // A leaf needs no expression around it.
  if (root->kind == Node::Kind::leaf)
    return Array(std::make_shared<const ArrayState>(root->source, root->selection, false));
  return array_of_source(std::make_shared<const ExpressionSource>(std::move(root)));
}

}  // namespace lowtide
