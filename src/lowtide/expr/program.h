// Fused expressions as a small typed program: data, the same for every back end.
//
//   Program program = make_program({root}, shape);      // leaves become operands, shared parts are computed once
//   program.text();                                     // "v0 = sqrt.float64 x0 / v1 = add.float64 v0 1"
//
// Every instruction gives one value for each element of the iteration space; values are named by the instruction that gives them.
// Operands that differ only in the space they are broadcast to are one.
//
// Plain data. Thread-safe: pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lowtide/expr/node.h"

namespace lowtide {

struct Ref {
  enum class Kind : std::uint8_t { operand, constant, value };
  Kind kind = Kind::value;
  std::uint32_t index = 0;
  bool operator==(const Ref&) const = default;
};

struct Instruction {
  bool is_cast = false;
  Op op{};
  DType in{}, out{};
  std::uint8_t arity = 1;
  std::array<Ref, 3> from{};
};

struct ProgramOperand {
  std::shared_ptr<const Source> source;
  Selection selection;  // has the shape of the iteration space
  DType dtype;
};

struct ProgramConstant {
  DType dtype;
  alignas(16) std::array<std::byte, 16> value;  // kernels read it as an element
};

struct Program {
  Shape space;
  std::vector<ProgramOperand> operands;
  std::vector<ProgramConstant> constants;
  std::vector<Instruction> instructions;
  std::vector<Ref> outputs;
  std::vector<DType> output_dtypes;

  std::vector<std::string> text() const;
  // Of what is computed, not of what with: the same for the same expression of other arrays.
  std::uint64_t hash() const;
};

// Each root broadcasts to `space`. `outer`, if given, selects from the space: then that is the program's.
Program make_program(std::span<const NodePtr> roots, const Shape& space, const Selection* outer = nullptr);

}  // namespace lowtide
