#include "lowtide/kernels/op.h"

#include <gtest/gtest.h>

namespace lowtide {
namespace {

TEST(Op, IsFoundByItsOwnName) {
  for (std::size_t i = 0; i < op_count; ++i) {
    const auto op = static_cast<Op>(i);
    EXPECT_EQ(op_named(facts(op).name), op) << facts(op).name;
  }
}

TEST(Op, IsFoundByNumpysAliases) {
  EXPECT_EQ(op_named("arcsin"), Op::asin);
  EXPECT_EQ(op_named("power"), Op::pow);
  EXPECT_EQ(op_named("true_divide"), Op::divide);
  EXPECT_EQ(op_named("mod"), Op::remainder);
  EXPECT_EQ(op_named("absolute"), Op::abs);
  EXPECT_EQ(op_named("left_shift"), Op::bitwise_left_shift);
  EXPECT_EQ(op_named("invert"), Op::bitwise_invert);
  EXPECT_EQ(op_named("conjugate"), Op::conj);
  EXPECT_EQ(op_named("rint"), Op::round);
  EXPECT_EQ(op_named("frobnicate"), std::nullopt);
}

TEST(Op, NamesStandBesideTheRightArity) {
  EXPECT_EQ(facts(Op::spacing).name, "spacing");
  EXPECT_EQ(facts(Op::spacing).arity, 1);
  EXPECT_EQ(facts(Op::add).name, "add");
  EXPECT_EQ(facts(Op::greater_equal).arity, 2);
  EXPECT_EQ(facts(Op::where).arity, 3);
}

}  // namespace
}  // namespace lowtide
