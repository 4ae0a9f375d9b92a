#include "lowtide/expr/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "lowtide/kernels/elementwise.h"

namespace lowtide {
namespace {

std::string shape_text(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ","), shape.size() == 1 ? "," : "");
}

// The dtype that some of a call's arguments have in common: nodes first, then numbers, which are weak.
DType common_dtype(std::span<const Argument> arguments) {
  std::optional<DType> dtype;
  for (const Argument& argument : arguments) {
    if (argument.node) dtype = dtype ? promote(*dtype, argument.node->dtype) : argument.node->dtype;
  }
  for (const Argument& argument : arguments) {
    if (argument.node) continue;
    dtype = dtype ? promote(*dtype, argument.scalar) : default_dtype(argument.scalar);
  }
  return *dtype;
}

bool compares(Op op) {
  return op == Op::equal || op == Op::not_equal || op == Op::less || op == Op::less_equal || op == Op::greater ||
         op == Op::greater_equal;
}

// Functions of floats: each integer becomes the float that holds it, and only then do they promote.
DType promoted_for(Op op, DType promoted, std::span<const Argument> values) {
  if (!is_integer(promoted) || op == Op::divide || result_dtype(op, promoted)) return promoted;
  std::optional<DType> dtype;
  for (const Argument& value : values) {
    if (!value.node) continue;
    const DType one = operands_dtype(op, value.node->dtype);
    dtype = dtype ? promote(*dtype, one) : one;
  }
  return *dtype;
}

NodePtr as_node(const Argument& argument, DType dtype) {
  return argument.node ? cast_to(argument.node, dtype) : constant(argument.scalar, dtype);
}

}  // namespace

Node::~Node() {
  std::vector<NodePtr> dropped = std::move(inputs);
  while (!dropped.empty()) {
    const NodePtr node = std::move(dropped.back());
    dropped.pop_back();
    if (node.use_count() > 1) continue;
    auto& last = const_cast<Node&>(*node);
    for (NodePtr& input : last.inputs) dropped.push_back(std::move(input));
    last.inputs.clear();
  }
}

NodePtr leaf(std::shared_ptr<const Source> source, DType dtype, Selection selection) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::leaf;
  node->dtype = dtype;
  node->shape = selection.shape();
  node->source = std::move(source);
  node->selection = std::move(selection);
  return node;
}

NodePtr constant(const Scalar& scalar, DType dtype) {
  auto node = std::make_shared<Node>();
  node->dtype = dtype;
  node->value = element(scalar, dtype);
  return node;
}

NodePtr cast_to(NodePtr node, DType dtype) {
  if (node->dtype == dtype) return node;
  auto cast = std::make_shared<Node>();
  cast->kind = Node::Kind::cast;
  cast->dtype = dtype;
  cast->shape = node->shape;
  cast->inputs = {std::move(node)};
  return cast;
}

NodePtr select(const NodePtr& root, const Selection& outer) {
  std::unordered_map<const Node*, NodePtr> made;
  std::vector<const Node*> stack{root.get()};
  while (!stack.empty()) {
    const Node* node = stack.back();
    if (made.contains(node)) {
      stack.pop_back();
      continue;
    }
    const std::size_t before = stack.size();
    for (const NodePtr& input : node->inputs) {
      if (!made.contains(input.get())) stack.push_back(input.get());
    }
    if (stack.size() > before) continue;
    stack.pop_back();
    auto copy = std::make_shared<Node>();
    copy->kind = node->kind;
    copy->dtype = node->dtype;
    copy->op = node->op;
    copy->value = node->value;
    for (const NodePtr& input : node->inputs) copy->inputs.push_back(made.at(input.get()));
    if (node->kind == Node::Kind::leaf) {
      copy->source = node->source;
      copy->selection = node->selection.broadcast(root->shape).of(outer);
    }
    if (node->kind != Node::Kind::constant || node == root.get()) copy->shape = outer.shape();
    made.emplace(node, std::move(copy));
  }
  return made.at(root.get());
}

Shape broadcast_shapes(std::span<const Shape> shapes) {
  std::size_t ndim = 0;
  for (const Shape& shape : shapes) ndim = std::max(ndim, shape.size());
  Shape result(ndim, 1);
  for (const Shape& shape : shapes) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& extent = result[ndim - shape.size() + i];
      if (extent == 1) {
        extent = shape[i];
      } else if (shape[i] != 1 && shape[i] != extent) {
        std::string all;
        for (const Shape& one : shapes) all += shape_text(one) + " ";
        throw std::invalid_argument("operands could not be broadcast together with shapes " + all);
      }
    }
  }
  return result;
}

DType result_type(std::span<const Argument> arguments) { return common_dtype(arguments); }

NodePtr call(Op op, std::span<const Argument> arguments) {
  const bool chooses = op == Op::where;  // the condition has no part in the dtype
  const std::span<const Argument> values = chooses ? arguments.subspan(1) : arguments;
  DType promoted = common_dtype(values);
  if (compares(op)) {
    // A number that the dtype cannot hold is still larger or smaller than what it can.
    for (const Argument& argument : values) {
      if (!argument.node && !fits(argument.scalar, promoted)) promoted = promote(promoted, DType::int64);
    }
  }
  const DType in = operands_dtype(op, promoted_for(op, promoted, values));
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::call;
  node->op = op;
  node->dtype = *result_dtype(op, in);
  if (chooses) node->inputs.push_back(as_node(arguments[0], DType::bool_));
  for (const Argument& argument : values) node->inputs.push_back(as_node(argument, in));
  std::vector<Shape> shapes;
  for (const NodePtr& input : node->inputs) shapes.push_back(input->shape);
  node->shape = broadcast_shapes(shapes);
  return node;
}

}  // namespace lowtide
