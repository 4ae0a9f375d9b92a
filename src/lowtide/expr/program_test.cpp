#include "lowtide/expr/program.h"

#include <gtest/gtest.h>

#include "lowtide/error.h"

namespace lowtide {
namespace {

NodePtr array(DType dtype, const Shape& shape) { return leaf(nullptr, dtype, Selection::whole(shape)); }
NodePtr apply(Op op, std::vector<Argument> arguments) { return call(op, arguments); }
DType dtype_of_call(Op op, DType a, DType b) { return apply(op, {{array(a, {}), {}}, {array(b, {}), {}}})->dtype; }

TEST(Promotion, IsNumPys) {
  using D = DType;
  EXPECT_EQ(promote(D::int8, D::uint8), D::int16);
  EXPECT_EQ(promote(D::int64, D::uint64), D::float64);
  EXPECT_EQ(promote(D::uint32, D::int32), D::int64);
  EXPECT_EQ(promote(D::float16, D::int8), D::float16);
  EXPECT_EQ(promote(D::float16, D::uint16), D::float32);
  EXPECT_EQ(promote(D::float32, D::int32), D::float64);
  EXPECT_EQ(promote(D::float32, D::int16), D::float32);
  EXPECT_EQ(promote(D::complex64, D::float64), D::complex128);
  EXPECT_EQ(promote(D::complex64, D::int32), D::complex128);
  EXPECT_EQ(promote(D::bool_, D::uint8), D::uint8);
}

TEST(Promotion, NumbersAreWeak) {
  using D = DType;
  EXPECT_EQ(promote(D::int8, Scalar(3)), D::int8);
  EXPECT_EQ(promote(D::float32, Scalar(0.1)), D::float32);
  EXPECT_EQ(promote(D::int8, Scalar(0.1)), D::float64);
  EXPECT_EQ(promote(D::bool_, Scalar(3)), D::int64);
  EXPECT_EQ(promote(D::float32, Scalar(std::complex<double>(0, 1))), D::complex64);
  EXPECT_THROW(element(Scalar(300), D::uint8), std::overflow_error);
  EXPECT_THROW(element(Scalar(-1), D::uint8), std::overflow_error);
  EXPECT_NO_THROW(element(Scalar(-128), D::int8));
}

TEST(Promotion, OperatorsComputeInNumPysDtypes) {
  using D = DType;
  EXPECT_EQ(dtype_of_call(Op::divide, D::int8, D::int8), D::float64);
  EXPECT_EQ(dtype_of_call(Op::floor_divide, D::int8, D::int8), D::int8);
  EXPECT_EQ(dtype_of_call(Op::less, D::int8, D::float32), D::bool_);
  EXPECT_EQ(dtype_of_call(Op::atan2, D::int8, D::int8), D::float16);
  EXPECT_EQ(dtype_of_call(Op::atan2, D::int16, D::uint16), D::float32);
  EXPECT_THROW(dtype_of_call(Op::gcd, D::bool_, D::bool_), TypeError);
  EXPECT_EQ(apply(Op::sqrt, {{array(D::int16, {}), {}}})->dtype, D::float32);
  EXPECT_EQ(apply(Op::abs, {{array(D::complex64, {}), {}}})->dtype, D::float32);
  EXPECT_THROW(dtype_of_call(Op::subtract, D::bool_, D::bool_), TypeError);
  EXPECT_THROW(dtype_of_call(Op::bitwise_and, D::float32, D::int8), TypeError);
  EXPECT_THROW(dtype_of_call(Op::add, D::bfloat16, D::bfloat16), UnsupportedError);
}

TEST(Nodes, BroadcastAndSayWhatDoesNot) {
  EXPECT_EQ(apply(Op::add, {{array(DType::int8, {3, 1}), {}}, {array(DType::int8, {4}), {}}})->shape, (Shape{3, 4}));
  try {
    apply(Op::add, {{array(DType::int8, {3}), {}}, {array(DType::int8, {4}), {}}});
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "operands could not be broadcast together with shapes (3,) (4,) ");
  }
}

TEST(Programs, ComputeSharedPartsOnce) {
  const NodePtr x = array(DType::float64, {10});
  const NodePtr same = leaf(nullptr, DType::float64, Selection::whole({10}));
  const NodePtr a = apply(Op::sqrt, {{x, {}}}), b = apply(Op::sqrt, {{same, {}}});
  const NodePtr root = apply(Op::add, {{apply(Op::multiply, {{a, {}}, {nullptr, Scalar(2)}}), {}}, {b, {}}});
  const Program program = make_program({&root, 1}, {10});
  EXPECT_EQ(program.operands.size(), 1u);
  EXPECT_EQ(program.text(),
            (std::vector<std::string>{"v0 = sqrt.float64 x0", "v1 = multiply.float64 v0 2", "v2 = add.float64 v1 v0"}));
  EXPECT_EQ(program.hash(), make_program({&root, 1}, {10}).hash());
}

TEST(Programs, SelectTheirLeaves) {
  const NodePtr x = array(DType::float64, {10, 4}), y = array(DType::float64, {4});
  const NodePtr root = apply(Op::add, {{x, {}}, {y, {}}});
  const Selection rows = Selection::whole({10, 4}).index({Slice{2, 5}});
  const Program program = make_program({&root, 1}, root->shape, &rows);
  EXPECT_EQ(program.space, (Shape{3, 4}));
  EXPECT_EQ(program.operands[0].selection, Selection::whole({10, 4}).index({Slice{2, 5}}));
  EXPECT_FALSE(program.operands[1].selection.depends_on(0));
  EXPECT_EQ(select(root, rows)->shape, (Shape{3, 4}));
}

TEST(Nodes, MayBeAHundredThousandDeep) {
  NodePtr node = array(DType::float64, {10});
  for (int i = 0; i < 100'000; ++i) node = apply(Op::add, {{node, {}}, {nullptr, Scalar(1.5)}});
  EXPECT_EQ(make_program({&node, 1}, {10}).instructions.size(), 100'000u);
}

}  // namespace
}  // namespace lowtide
