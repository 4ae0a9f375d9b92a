#include "lowtide/expr/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <unordered_map>

#include "lowtide/kernels/cast.h"

namespace lowtide {
namespace {

class Builder {
 public:
  Builder(Program& program, const Shape& space, const Selection* outer)
      : program_(program), space_(space), outer_(outer) {}

  Ref value_of(const NodePtr& root) {
    // Not by recursion: a loop of a hundred thousand additions is a deep graph.
    std::vector<const Node*> stack{root.get()};
    while (!stack.empty()) {
      const Node* node = stack.back();
      if (seen_.contains(node)) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      for (auto input = node->inputs.rbegin(); input != node->inputs.rend(); ++input) {  // the first is next
        if (seen_.contains(input->get())) continue;
        stack.push_back(input->get());
        ready = false;
      }
      if (!ready) continue;
      stack.pop_back();
      seen_.emplace(node, add(*node));
    }
    return seen_.at(root.get());
  }

 private:
  Ref add(const Node& node) {
    switch (node.kind) {
      case Node::Kind::leaf:
        return add_operand(node);
      case Node::Kind::constant:
        return add_constant(node);
      default:
        return add_instruction(node);
    }
  }

  Ref add_operand(const Node& node) {
    Selection selection = node.selection.broadcast(space_);
    if (outer_ != nullptr) selection = selection.of(*outer_);
    auto& operands = program_.operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].source == node.source && operands[i].selection == selection) return ref(Ref::Kind::operand, i);
    }
    operands.push_back({node.source, std::move(selection), node.dtype});
    return ref(Ref::Kind::operand, operands.size() - 1);
  }

  Ref add_constant(const Node& node) {
    auto& constants = program_.constants;
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (constants[i].dtype == node.dtype && constants[i].value == node.value) return ref(Ref::Kind::constant, i);
    }
    constants.push_back({node.dtype, node.value});
    return ref(Ref::Kind::constant, constants.size() - 1);
  }

  Ref add_instruction(const Node& node) {
    Instruction made{.is_cast = node.kind == Node::Kind::cast,
                     .op = node.op,
                     .in = node.inputs.back()->dtype,
                     .out = node.dtype,
                     .arity = static_cast<std::uint8_t>(node.inputs.size())};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) made.from[i] = seen_.at(node.inputs[i].get());
    const std::string key(reinterpret_cast<const char*>(key_of(made).data()), sizeof(Key));
    const auto [at, added] = by_content_.emplace(key, program_.instructions.size());
    if (added) program_.instructions.push_back(made);
    return ref(Ref::Kind::value, at->second);
  }

  using Key = std::array<std::uint32_t, 8>;
  static Key key_of(const Instruction& made) {
    Key key{made.is_cast, static_cast<std::uint32_t>(made.op), static_cast<std::uint32_t>(made.in),
            static_cast<std::uint32_t>(made.out)};
    key[4] = made.arity;
    for (std::size_t i = 0; i < made.arity; ++i)
      key[5 + i] = made.from[i].index << 2 | static_cast<std::uint32_t>(made.from[i].kind);
    return key;
  }

  static Ref ref(Ref::Kind kind, std::size_t index) { return {kind, static_cast<std::uint32_t>(index)}; }

  Program& program_;
  const Shape& space_;
  const Selection* outer_;
  std::unordered_map<const Node*, Ref> seen_;
  std::unordered_map<std::string, std::size_t> by_content_;
};

std::string constant_text(const ProgramConstant& constant) {
  std::complex<double> value;
  cast(constant.value.data(), constant.dtype, reinterpret_cast<std::byte*>(&value), DType::complex128, 1);
  return value.imag() == 0 ? fmt::format("{}", value.real()) : fmt::format("({}+{}j)", value.real(), value.imag());
}

}  // namespace

Program make_program(std::span<const NodePtr> roots, const Shape& space, const Selection* outer) {
  Program program;
  program.space = outer != nullptr ? outer->shape() : space;
  Builder builder(program, space, outer);
  for (const NodePtr& root : roots) {
    program.outputs.push_back(builder.value_of(root));
    program.output_dtypes.push_back(root->dtype);
  }
  return program;
}

std::vector<std::string> Program::text() const {
  const auto name_of = [&](const Ref& ref) {
    switch (ref.kind) {
      case Ref::Kind::operand:
        return fmt::format("x{}", ref.index);
      case Ref::Kind::constant:
        return constant_text(constants[ref.index]);
      default:
        return fmt::format("v{}", ref.index);
    }
  };
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& made = instructions[i];
    std::string line = made.is_cast ? fmt::format("v{} = {}", i, name(made.out))
                                    : fmt::format("v{} = {}.{}", i, facts(made.op).name, name(made.in));
    for (std::size_t k = 0; k < made.arity; ++k) line.append(" ").append(name_of(made.from[k]));
    lines.push_back(std::move(line));
  }
  return lines;
}

std::uint64_t Program::hash() const {
  std::uint64_t hash = 0xCBF29CE484222325u;
  const auto mix = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  };
  for (const ProgramOperand& operand : operands) mix(name(operand.dtype));
  for (const ProgramConstant& constant : constants)
    mix({reinterpret_cast<const char*>(constant.value.data()), constant.value.size()});
  for (const std::string& line : text()) mix(line);
  for (const Ref& ref : outputs) mix(fmt::format("{}.{}", static_cast<int>(ref.kind), ref.index));
  return hash;
}

}  // namespace lowtide
