// A lazy elementwise expression: an immutable graph of operators over elements of sources and constants. Touches no bytes.
//
//   NodePtr x = leaf(source, selection);
//   NodePtr y = call(Op::add, {call(Op::sqrt, {x}), constant(Scalar(1), DType::float32)});    // dtypes and shapes inferred
//
// Views of an expression are views of its leaves (select()), so a graph is never indexed, only its leaves are.
//
// Immutable; safe to share between threads. Errors have NumPy's words: std::invalid_argument for shapes, TypeError for dtypes.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lowtide/expr/promotion.h"
#include "lowtide/index/selection.h"

namespace lowtide {

class Source;
struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Node {
  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  ~Node();  // however deep the graph is

  enum class Kind : std::uint8_t { leaf, constant, call, cast };
  Kind kind = Kind::constant;
  DType dtype = DType::bool_;
  Shape shape;  // a constant has none
  // call, cast
  Op op{};
  std::vector<NodePtr> inputs;
  // leaf
  std::shared_ptr<const Source> source;
  Selection selection;
  // constant
  std::array<std::byte, 16> value{};
};

NodePtr leaf(std::shared_ptr<const Source> source, DType dtype, Selection selection);
NodePtr constant(const Scalar& scalar, DType dtype);
NodePtr cast_to(NodePtr node, DType dtype);  // the node itself where that changes nothing

// An operand of a call: an expression, or a number that takes the others' dtype.
struct Argument {
  NodePtr node;  // null for a number
  Scalar scalar;
};
// REQUIRES: as many as the operator takes, one of them a node.
NodePtr call(Op op, std::span<const Argument> arguments);
DType result_type(std::span<const Argument> arguments);

// The expression of selected elements: the same operators on a selection of every leaf.
NodePtr select(const NodePtr& root, const Selection& outer);

// The shape that shapes broadcast to.
Shape broadcast_shapes(std::span<const Shape> shapes);

}  // namespace lowtide
