#include "lowtide/exec/reducer.h"

#include <algorithm>
#include <array>

#include "lowtide/exec/map.h"
#include "lowtide/exec/pass.h"
#include "lowtide/memory/block.h"

namespace lowtide {
namespace {

constexpr std::int64_t short_run = 256;        // shorter rows share a strip
constexpr std::int64_t most_rows = 16;         // computed before they are added to their columns
constexpr std::int64_t part_size = 32 * 1024;  // elements of a tile that one thread takes
constexpr std::int64_t most_parts = 32;
constexpr std::int64_t few_states = 1024;          // so few are kept once for every part
constexpr std::int64_t worth_sharing = 64 * 1024;  // elements

}  // namespace

struct Reducer::Part {
  std::size_t axis = 0;
  std::int64_t begin = 0, end = 0;
  std::byte* const* states = nullptr;  // one array for each item
};

// Adds one part of a tile to accumulators, in order.
class Reducer::Worker {
 public:
  Worker(const Reducer& of, const MergedTile& tile, const Part& part, std::byte* scratch, std::int64_t first)
      : of_(of), tile_(tile), part_(part), scratch_(scratch), last_(tile.extent.size() - 1), first_(first) {
    std::byte* buffer = scratch + of.machine_.scratch_bytes();
    for (const DType dtype : of.program_.output_dtypes) {
      buffers_.push_back(buffer);
      buffer += most_rows * strip_length * itemsize(dtype);
    }
    places_.resize(buffers_.size());
    index_.assign(tile.extent.size(), 0);
  }

  void run() {
    index_[part_.axis] = part_.begin;
    if (tile_.kinds[last_]) {
      along_rows();
    } else {
      across_rows();
    }
  }

 private:
  std::int64_t begin(std::size_t axis) const { return axis == part_.axis ? part_.begin : 0; }
  std::int64_t end(std::size_t axis) const { return axis == part_.axis ? part_.end : tile_.extent[axis]; }

  // The next index on axes before `axes`, or false.
  bool step(std::size_t axes) {
    for (std::size_t i = axes; i-- > 0;) {
      if (++index_[i] < end(i)) return true;
      index_[i] = begin(i);
    }
    return false;
  }

  std::int64_t state_at() const { return offset_of(tile_.others[0]); }
  std::int64_t position() const { return first_ + offset_of(tile_.others[1]); }
  std::int64_t offset_of(const StridedView& view) const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i <= last_; ++i) sum += index_[i] * view.strides_bytes[i];
    return sum;
  }

  std::size_t item_bytes(std::size_t output) const { return itemsize(of_.program_.output_dtypes[output]); }

  // The outputs of `count` elements from index_ on: where they are, or in the buffers from element `skip` on.
  void compute(std::int64_t count, std::int64_t skip, bool may_stay) {
    bool all_in_place = may_stay;
    for (std::size_t k = 0; k < buffers_.size() && all_in_place; ++k) {
      const std::byte* there = of_.machine_.in_place(k, tile_, index_, count);
      all_in_place = there != nullptr;
      places_[k] = const_cast<std::byte*>(there);
    }
    if (all_in_place) return;
    for (std::size_t k = 0; k < buffers_.size(); ++k)
      places_[k] = buffers_[k] + static_cast<std::size_t>(skip) * item_bytes(k);
    of_.machine_.run(tile_, index_, count, scratch_, places_);
  }

  void add_run(std::int64_t skip, std::int64_t count, std::int64_t state, std::int64_t first) {
    for (std::size_t m = 0; m < of_.items_.size(); ++m) {
      const ReduceKernel& kernel = *of_.kernels_[m];
      const std::size_t output = of_.items_[m].output;
      kernel.run(part_.states[m] + static_cast<std::size_t>(state) * kernel.state_bytes,
                 places_[output] + static_cast<std::size_t>(skip) * item_bytes(output), static_cast<std::size_t>(count),
                 first);
    }
  }

  // Elements next to each other go into one accumulator.
  void along_rows() {
    const std::int64_t from = begin(last_), to = end(last_);
    const std::int64_t length = to - from;
    const bool whole = length == tile_.extent[last_];
    if (length >= short_run || !whole) {
      do {
        for (index_[last_] = from; index_[last_] < to;) {
          const std::int64_t count = std::min(strip_length, to - index_[last_]);
          compute(count, 0, true);
          add_run(0, count, state_at(), position());
          index_[last_] += count;
        }
        index_[last_] = from;
      } while (step(last_));
      return;
    }
    // Rows that follow each other in the tile: those of one value of the part's axis and all after it.
    const std::int64_t a_strip = std::max<std::int64_t>(1, strip_length / length);
    std::int64_t rows = 1;
    for (std::size_t i = 0; i < last_; ++i) rows *= end(i) - begin(i);
    const bool consecutive = part_.axis == 0 || part_.end - part_.begin == tile_.extent[part_.axis];
    for (std::int64_t done = 0; done < rows;) {
      const std::int64_t now = consecutive ? std::min(a_strip, rows - done) : 1;
      compute(now * length, 0, true);
      for (std::int64_t i = 0; i < now; ++i) {
        add_run(i * length, length, state_at(), position());
        step(last_);
      }
      done += now;
    }
  }

  void add_rows(std::size_t m, std::int64_t state, const std::byte* data, std::int64_t columns, std::int64_t rows,
                std::int64_t stride_bytes, std::int64_t first, std::int64_t index_step) {
    const ReduceKernel& kernel = *of_.kernels_[m];
    kernel.rows(part_.states[m] + static_cast<std::size_t>(state) * kernel.state_bytes, data,
                static_cast<std::size_t>(columns), static_cast<std::size_t>(rows),
                static_cast<std::size_t>(stride_bytes), first, index_step);
  }

  // Elements next to each other go into accumulators next to each other.
  void across_rows() {
    const bool has_rows = last_ > 0 && tile_.kinds[last_ - 1];
    const std::size_t outer = has_rows ? last_ - 1 : last_;
    const std::int64_t row_begin = has_rows ? begin(last_ - 1) : 0, row_end = has_rows ? end(last_ - 1) : 1;
    const std::int64_t row_step = has_rows ? tile_.others[1].strides_bytes[last_ - 1] : 0;
    const std::int64_t from = begin(last_), to = end(last_);
    do {
      for (std::int64_t column = from; column < to; column += strip_length) {
        const std::int64_t columns = std::min(strip_length, to - column);
        index_[last_] = column;
        for (std::int64_t row = row_begin; row < row_end;) {
          if (has_rows) index_[last_ - 1] = row;
          row += add_columns(columns, row_end - row, row_step, has_rows);
        }
      }
      index_[last_] = from;
      if (has_rows) index_[last_ - 1] = row_begin;
    } while (step(outer));
  }

  // Returns how many rows it took.
  std::int64_t add_columns(std::int64_t columns, std::int64_t rows, std::int64_t row_step, bool has_rows) {
    const std::int64_t state = state_at(), first = position();
    bool in_place = has_rows;
    for (std::size_t k = 0; k < buffers_.size() && in_place; ++k)
      in_place = of_.machine_.in_place(k, tile_, index_, columns) != nullptr &&
                 tile_.operands[of_.program_.outputs[k].index].strides_bytes[last_ - 1] > 0;
    if (in_place) {
      for (std::size_t m = 0; m < of_.items_.size(); ++m) {
        const std::size_t output = of_.items_[m].output;
        const StridedView& view = tile_.operands[of_.program_.outputs[output].index];
        add_rows(m, state, of_.machine_.in_place(output, tile_, index_, columns), columns, rows,
                 view.strides_bytes[last_ - 1], first, row_step);
      }
      return rows;
    }
    std::int64_t now = std::min(rows, std::max<std::int64_t>(most_rows, strip_length / columns));
    now = std::max<std::int64_t>(1, std::min(now, most_rows * strip_length / columns));
    const bool whole_rows = columns == tile_.extent[last_];
    if (whole_rows && columns * now <= strip_length) {
      compute(columns * now, 0, false);
    } else {
      const std::int64_t begin = has_rows ? index_[last_ - 1] : 0;
      for (std::int64_t i = 0; i < now; ++i) {
        if (has_rows) index_[last_ - 1] = begin + i;
        compute(columns, i * columns, false);
      }
      if (has_rows) index_[last_ - 1] = begin;
    }
    for (std::size_t m = 0; m < of_.items_.size(); ++m) {
      const std::size_t output = of_.items_[m].output;
      add_rows(m, state, buffers_[output], columns, now, columns * static_cast<std::int64_t>(item_bytes(output)), first,
               row_step);
    }
    return now;
  }

  const Reducer& of_;
  const MergedTile& tile_;
  const Part& part_;
  std::byte* scratch_;
  std::size_t last_;
  std::int64_t first_;  // position of the tile
  std::vector<std::byte*> buffers_;
  std::vector<std::byte*> places_;
  std::vector<std::int64_t> index_;
};

Reducer::Reducer(const Program& program, std::vector<bool> reduced, std::vector<ReduceItem> items)
    : program_(program), machine_(program), reduced_(std::move(reduced)), items_(std::move(items)) {
  for (const ReduceItem& item : items_)
    kernels_.push_back(reduce_kernel(item.reduction, program_.output_dtypes[item.output]));
}

std::int64_t Reducer::window_size(const TilePlan& plan) const {
  std::int64_t size = 1;
  for (std::size_t i = 0; i < plan.cut.size(); ++i) {
    if (!reduced_[plan.order[i]]) size *= plan.cut[i];
  }
  return size;
}

std::size_t Reducer::states_bytes() const {
  std::size_t bytes = 0;
  for (const ReduceKernel* kernel : kernels_) bytes += kernel->state_bytes;
  return bytes;
}

std::size_t Reducer::scratch_bytes() const {
  std::size_t bytes = machine_.scratch_bytes();
  for (const DType dtype : program_.output_dtypes) bytes += most_rows * strip_length * itemsize(dtype);
  return round_up(bytes, 64);
}

std::uint64_t Reducer::bytes(const TilePlan& plan) const {
  const std::int64_t window = window_size(plan);
  const std::uint64_t partials = window <= few_states ? static_cast<std::uint64_t>(window * most_parts) : 0;
  return round_up((static_cast<std::uint64_t>(window) + partials) * states_bytes(), 64) +
         scratch_bytes() * plan.threads;
}

void Reducer::begin(const TilePlan& plan, std::span<std::byte> memory) {
  plan_ = &plan;
  window_ = window_size(plan);
  std::byte* at = memory.data();
  states_.clear();
  for (const ReduceKernel* kernel : kernels_) {
    states_.push_back(at);
    at += static_cast<std::size_t>(window_) * kernel->state_bytes;
  }
  const std::size_t partials =
      window_ <= few_states ? static_cast<std::size_t>(window_ * most_parts) * states_bytes() : 0;
  partials_ = {at, partials};
  at = memory.data() + round_up(static_cast<std::uint64_t>(at - memory.data()) + partials, 64);
  scratch_ = {at, scratch_bytes() * plan.threads};
  clear();
}

void Reducer::clear() {
  for (std::size_t m = 0; m < kernels_.size(); ++m) kernels_[m]->init(states_[m], static_cast<std::size_t>(window_));
}

void Reducer::add(const Tile& tile) {
  const std::size_t ndim = tile.extent.size();
  StridedView state{nullptr, std::vector<std::int64_t>(ndim, 0)};
  StridedView position{nullptr, std::vector<std::int64_t>(ndim, 0)};
  std::array<bool, max_ndim> kinds;
  std::int64_t states = 1, positions = 1, first = 0;
  for (std::size_t i = ndim; i-- > 0;) {
    kinds[i] = is_reduced(i);
    if (kinds[i]) {
      position.strides_bytes[i] = positions;
      first += positions * tile.begin[i];
      positions *= plan_->extent[i];
    } else {
      state.strides_bytes[i] = states;
      states *= tile.extent[i];
    }
  }
  const std::array<StridedView, 2> others{state, position};
  MergedTile merged(tile.extent, tile.operands, operand_itemsizes(program_), others, std::span(kinds.data(), ndim));

  // One axis is divided: a kept one, where parts have accumulators of their own, or a reduced one, where they get copies.
  std::size_t axis = 0;
  std::int64_t widest = 0;
  for (std::size_t i = 0; i < merged.extent.size(); ++i) {
    if (merged.kinds[i]) continue;
    const std::int64_t width = i + 1 == merged.extent.size() ? merged.extent[i] / short_run : merged.extent[i];
    if (width > widest) {
      widest = width;
      axis = i;
    }
  }
  const std::int64_t wanted = std::clamp<std::int64_t>(merged.size / part_size, 1, most_parts);
  bool copies = false;
  if (widest < 2 && !partials_.empty()) {
    for (std::size_t i = 0; i < merged.extent.size(); ++i) {
      if (merged.kinds[i] && merged.extent[i] > widest) {
        widest = merged.extent[i];
        axis = i;
        copies = true;
      }
    }
  }
  const std::int64_t parts = std::clamp<std::int64_t>(std::min(wanted, widest), 1, most_parts);
  copies = copies && parts > 1;
  const auto state_count = static_cast<std::size_t>(window_);
  std::vector<std::vector<std::byte*>> part_states(static_cast<std::size_t>(parts), states_);
  if (copies) {
    std::byte* at = partials_.data();
    for (std::vector<std::byte*>& own : part_states) {
      for (std::size_t m = 0; m < kernels_.size(); ++m) {
        own[m] = at;
        kernels_[m]->init(at, state_count);
        at += state_count * kernels_[m]->state_bytes;
      }
    }
  }
  // Columns are divided at whole cache lines.
  const std::int64_t unit = !copies && axis + 1 == merged.extent.size() && !merged.kinds[axis] ? 64 : 1;
  const std::int64_t units = (merged.extent[axis] + unit - 1) / unit;
  in_parallel(parts, merged.size >= worth_sharing, scratch_, scratch_bytes(),
              [&](std::byte* mine, std::int64_t number) {
                Part part{axis, units * number / parts * unit,
                          std::min(merged.extent[axis], units * (number + 1) / parts * unit),
                          part_states[static_cast<std::size_t>(number)].data()};
                if (part.begin < part.end) Worker(*this, merged, part, mine, first).run();
              });
  if (!copies) return;
  for (const std::vector<std::byte*>& own : part_states) {
    for (std::size_t m = 0; m < kernels_.size(); ++m) kernels_[m]->merge(states_[m], own[m], state_count);
  }
}

}  // namespace lowtide
