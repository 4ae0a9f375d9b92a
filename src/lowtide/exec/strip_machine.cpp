#include "lowtide/exec/strip_machine.h"

#include <algorithm>
#include <cstring>

#include "lowtide/kernels/cast.h"
#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t most_operands_on_stack = 16;

const std::byte* place_of(const StridedView& view, std::span<const std::int64_t> index) {
  const std::byte* at = view.data;
  for (std::size_t i = 0; i < index.size(); ++i) at += index[i] * view.strides_bytes[i];
  return at;
}

template <std::size_t Item>
void copy_items(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, Item);
}

void copy_run(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
              std::int64_t count, std::size_t item) {
  const auto dense = static_cast<std::int64_t>(item);
  if (to_stride == dense && from_stride == dense) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * item);
    return;
  }
  switch (item) {
    case 1:
      return copy_items<1>(to, to_stride, from, from_stride, count);
    case 2:
      return copy_items<2>(to, to_stride, from, from_stride, count);
    case 4:
      return copy_items<4>(to, to_stride, from, from_stride, count);
    case 8:
      return copy_items<8>(to, to_stride, from, from_stride, count);
    default:
      return copy_items<16>(to, to_stride, from, from_stride, count);
  }
}

// Calls visit(offset of the run in the view, first element of the strip, length) for each row that the strip touches.
template <class Visit>
void for_runs(const MergedTile& tile, const StridedView& view, std::span<const std::int64_t> index, std::int64_t count,
              const Visit& visit) {
  std::array<std::int64_t, max_ndim> at;
  std::copy(index.begin(), index.end(), at.begin());
  const std::size_t last = tile.extent.size() - 1;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i <= last; ++i) offset += at[i] * view.strides_bytes[i];
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t n = std::min(count - done, tile.extent[last] - at[last]);
    visit(offset, done, n);
    done += n;
    offset -= at[last] * view.strides_bytes[last];
    at[last] = 0;
    for (std::size_t i = last; i-- > 0;) {
      offset += view.strides_bytes[i];
      if (++at[i] < tile.extent[i]) break;
      offset -= view.strides_bytes[i] * tile.extent[i];
      at[i] = 0;
    }
  }
}

void fill(std::byte* to, const std::byte* element, std::int64_t count, std::size_t item) {
  copy_run(to, static_cast<std::int64_t>(item), element, 0, count, item);
}

}  // namespace

MergedTile::MergedTile(const Shape& all, std::span<const StridedView> operand_views,
                       std::span<const std::size_t> itemsizes, std::span<const StridedView> other_views,
                       std::span<const bool> all_kinds) {
  const auto copy_data = [](std::span<const StridedView> from, std::vector<StridedView>& to) {
    for (const StridedView& view : from) to.push_back({view.data, {}});
  };
  copy_data(operand_views, operands);
  copy_data(other_views, others);
  for (std::size_t i = 0; i < all.size(); ++i) {
    size *= all[i];
    if (all[i] == 1) continue;
    bool merges = !extent.empty() && (all_kinds.empty() || kinds.back() == all_kinds[i]);
    const auto steps_on = [&](std::span<const StridedView> from, const std::vector<StridedView>& to) {
      for (std::size_t k = 0; k < from.size() && merges; ++k)
        merges = to[k].strides_bytes.back() == from[k].strides_bytes[i] * all[i];
    };
    steps_on(operand_views, operands);
    steps_on(other_views, others);
    const auto take = [&](std::span<const StridedView> from, std::vector<StridedView>& to) {
      for (std::size_t k = 0; k < from.size(); ++k) {
        if (merges) {
          to[k].strides_bytes.back() = from[k].strides_bytes[i];
        } else {
          to[k].strides_bytes.push_back(from[k].strides_bytes[i]);
        }
      }
    };
    take(operand_views, operands);
    take(other_views, others);
    if (merges) {
      extent.back() *= all[i];
    } else {
      extent.push_back(all[i]);
      if (!all_kinds.empty()) kinds.push_back(all_kinds[i]);
    }
  }
  if (extent.empty()) {
    extent.push_back(1);
    kinds.push_back(true);
    for (std::size_t k = 0; k < operands.size(); ++k)
      operands[k].strides_bytes.push_back(static_cast<std::int64_t>(itemsizes[k]));
    for (StridedView& view : others) view.strides_bytes.push_back(0);
  }
  for (std::size_t k = 0; k < operands.size(); ++k) {
    auto dense = static_cast<std::int64_t>(itemsizes[k]);
    bool is_flat = true, is_single = true;
    for (std::size_t i = extent.size(); i-- > 0; dense *= extent[i]) {
      is_flat = is_flat && operands[k].strides_bytes[i] == dense;
      is_single = is_single && operands[k].strides_bytes[i] == 0;
    }
    flat.push_back(is_flat);
    single.push_back(is_single);
  }
}

void MergedTile::index_of(std::int64_t element, std::span<std::int64_t> index) const {
  for (std::size_t i = extent.size(); i-- > 1;) {
    index[i] = element % extent[i];
    element /= extent[i];
  }
  index[0] = element;
}

void gather_strip(const MergedTile& tile, const StridedView& view, std::span<const std::int64_t> index,
                  std::int64_t count, std::size_t itemsize, std::byte* strip) {
  const auto item = static_cast<std::int64_t>(itemsize);
  for_runs(tile, view, index, count, [&](std::int64_t offset, std::int64_t first, std::int64_t n) {
    copy_run(strip + first * item, item, view.data + offset, view.strides_bytes.back(), n, itemsize);
  });
}

void scatter_strip(const MergedTile& tile, const StridedView& view, std::span<const std::int64_t> index,
                   std::int64_t count, std::size_t itemsize, const std::byte* strip) {
  const auto item = static_cast<std::int64_t>(itemsize);
  for_runs(tile, view, index, count, [&](std::int64_t offset, std::int64_t first, std::int64_t n) {
    copy_run(const_cast<std::byte*>(view.data) + offset, view.strides_bytes.back(), strip + first * item, item, n,
             itemsize);
  });
}

StripMachine::StripMachine(const Program& program) : constants_(program.constants), outputs_(program.outputs) {
  const std::size_t count = program.instructions.size();
  std::vector<std::size_t> last_use(count, 0);
  loaded_.assign(program.operands.size(), false);
  const auto use = [&](const Ref& ref, std::size_t at) {
    if (ref.kind == Ref::Kind::value) last_use[ref.index] = at;
    if (ref.kind == Ref::Kind::operand) loaded_[ref.index] = true;
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < program.instructions[i].arity; ++k) use(program.instructions[i].from[k], i);
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    use(outputs_[k], count);
    output_itemsizes_.push_back(itemsize(program.output_dtypes[k]));
  }
  for (const ProgramOperand& operand : program.operands) {
    operand_itemsizes_.push_back(itemsize(operand.dtype));
    load_offsets_.push_back(scratch_bytes_);
    scratch_bytes_ += round_up(strip_length * operand_itemsizes_.back(), cache_line);
  }
  struct Register {
    std::size_t offset, item;
    std::size_t free_from;  // the step after which it may be written again
  };
  std::vector<Register> registers;
  for (std::size_t i = 0; i < count; ++i) {
    const Instruction& made = program.instructions[i];
    Step step{.kernel = made.is_cast ? nullptr : strip_kernel(made.op, made.in),
              .in = made.in,
              .out = made.out,
              .arity = made.arity,
              .from = made.from,
              .out_itemsize = itemsize(made.out)};
    for (std::size_t k = 0; k < outputs_.size() && step.output < 0; ++k) {
      if (outputs_[k] == Ref{Ref::Kind::value, static_cast<std::uint32_t>(i)})
        step.output = static_cast<std::int32_t>(k);
    }
    if (step.output < 0) {
      const auto free = std::ranges::find_if(
          registers, [&](const Register& r) { return r.free_from <= i && r.item == step.out_itemsize; });
      if (free != registers.end()) {
        free->free_from = last_use[i] + 1;
        step.scratch_offset = free->offset;
      } else {
        registers.push_back({scratch_bytes_, step.out_itemsize, last_use[i] + 1});
        step.scratch_offset = scratch_bytes_;
        scratch_bytes_ += round_up(strip_length * step.out_itemsize, cache_line);
      }
    }
    steps_.push_back(step);
  }
}

StripMachine::Loaded StripMachine::load(std::size_t operand, const MergedTile& tile,
                                        std::span<const std::int64_t> index, std::int64_t count,
                                        std::byte* scratch) const {
  const StridedView& view = tile.operands[operand];
  const std::size_t item = operand_itemsizes_[operand];
  if (tile.single[operand]) return {view.data, true};
  const std::byte* at = place_of(view, index);
  if (tile.flat[operand]) return {at, false};
  const bool in_one_row = index.back() + count <= tile.inner();
  if (in_one_row && view.strides_bytes.back() == 0) return {at, true};
  if (in_one_row && view.strides_bytes.back() == static_cast<std::int64_t>(item)) return {at, false};
  std::byte* strip = scratch + load_offsets_[operand];
  gather_strip(tile, view, index, count, item, strip);
  return {strip, false};
}

const std::byte* StripMachine::in_place(std::size_t output, const MergedTile& tile, std::span<const std::int64_t> index,
                                        std::int64_t count) const {
  const Ref& ref = outputs_[output];
  if (ref.kind != Ref::Kind::operand || tile.single[ref.index]) return nullptr;
  const StridedView& view = tile.operands[ref.index];
  const bool dense =
      tile.flat[ref.index] || (index.back() + count <= tile.inner() &&
                               view.strides_bytes.back() == static_cast<std::int64_t>(operand_itemsizes_[ref.index]));
  return dense ? place_of(view, index) : nullptr;
}

void StripMachine::run(const MergedTile& tile, std::span<const std::int64_t> index, std::int64_t count,
                       std::byte* scratch, std::span<std::byte* const> outputs) const {
  std::array<Loaded, most_operands_on_stack> few;
  std::vector<Loaded> many;
  std::span<Loaded> loaded(few.data(), std::min(loaded_.size(), few.size()));
  if (loaded_.size() > few.size()) {
    many.resize(loaded_.size());
    loaded = many;
  }
  for (std::size_t i = 0; i < loaded_.size(); ++i) {
    if (loaded_[i]) loaded[i] = load(i, tile, index, count, scratch);
  }
  std::array<bool, 64> few_scalars;
  std::vector<char> many_scalars;
  bool* scalars = few_scalars.data();
  if (steps_.size() > few_scalars.size()) {
    many_scalars.resize(steps_.size());
    scalars = reinterpret_cast<bool*>(many_scalars.data());
  }
  const auto destination = [&](const Step& step) {
    return step.output >= 0 ? outputs[static_cast<std::size_t>(step.output)] : scratch + step.scratch_offset;
  };
  const auto value = [&](const Ref& ref) -> Loaded {
    switch (ref.kind) {
      case Ref::Kind::operand:
        return loaded[ref.index];
      case Ref::Kind::constant:
        return {constants_[ref.index].value.data(), true};
      default:
        return {destination(steps_[ref.index]), scalars[ref.index]};
    }
  };
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    StripArgs arguments{.out = destination(step), .in = {}, .count = static_cast<std::size_t>(count), .scalars = 0};
    bool all_scalar = true;
    for (std::size_t k = 0; k < step.arity; ++k) {
      const Loaded input = value(step.from[k]);
      arguments.in[k] = input.data;
      if (input.scalar) arguments.scalars |= static_cast<std::uint8_t>(1 << k);
      all_scalar = all_scalar && input.scalar;
    }
    scalars[i] = all_scalar;
    if (all_scalar) arguments.count = 1;
    if (step.kernel != nullptr) {
      step.kernel(arguments);
    } else {
      cast(arguments.in[0], step.in, arguments.out, step.out, arguments.count);
    }
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const Loaded result = value(outputs_[k]);
    const std::size_t item = output_itemsizes_[k];
    if (result.scalar) {
      alignas(16) std::array<std::byte, 16> one;
      std::memcpy(one.data(), result.data, item);
      fill(outputs[k], one.data(), count, item);
    } else if (result.data != outputs[k]) {
      std::memcpy(outputs[k], result.data, static_cast<std::size_t>(count) * item);
    }
  }
}

}  // namespace lowtide
