#include "lowtide/exec/expression_source.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "lowtide/exec/map.h"
#include "lowtide/exec/pass.h"

namespace lowtide {
namespace {

struct MapLowering final : Lowering {
  MapLowering(const NodePtr& root, const Shape& space, const Selection* outer)
      : program(make_program({&root, 1}, space, outer)), machine(program) {}
  Program program;
  StripMachine machine;

  BytesBeside beside() const {
    return [this](const TilePlan& plan) { return map_scratch_bytes(machine, program, plan.threads); };
  }
};

void map_into(const MapLowering& way, const Pass& pass, const Tile& tile, std::byte* place,
              const std::vector<std::int64_t>& strides) {
  const StridedView output{place, strides};
  map_tile(way.machine, way.program, tile, {&output, 1}, pass.beside());
}

// Tiles are read ahead across blocks.
class MapReader final : public RowReader {
 public:
  MapReader(const NodePtr& root, const Selection& selection, std::int64_t rows, Workspace& workspace)
      : way_(root, root->shape, &selection),
        pass_(way_.program, {.keep_order = true, .rows = rows, .outermost = {}}, way_.beside(), workspace),
        strides_(dense_strides(selection.shape(), itemsize(root->dtype))) {}

  void next(std::byte* memory, std::int64_t rows) override {
    for (Tile tile; left_in(rows) && pass_.tiles().next(tile);) {
      std::byte* place = memory - begin_ * strides_[0];
      for (std::size_t i = 0; i < strides_.size(); ++i) place += tile.begin[i] * strides_[i];
      map_into(way_, pass_, tile, place, strides_);
      done_ += std::accumulate(tile.extent.begin(), tile.extent.end(), std::int64_t{1}, std::multiplies<>());
    }
    begin_ += rows;
    done_ = 0;
  }

 private:
  bool left_in(std::int64_t rows) const {
    const Shape& extent = pass_.plan().extent;
    const std::int64_t row = std::accumulate(extent.begin() + 1, extent.end(), std::int64_t{1}, std::multiplies<>());
    return done_ < rows * row;
  }

  MapLowering way_;
  Pass pass_;
  std::vector<std::int64_t> strides_;
  std::int64_t begin_ = 0, done_ = 0;  // first row of the block, elements of it
};

std::vector<const Node*> leaves_of(const NodePtr& root) {
  std::vector<const Node*> leaves, stack{root.get()};
  std::unordered_set<const Node*> seen;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    if (node->kind == Node::Kind::leaf) leaves.push_back(node);
    for (auto input = node->inputs.rbegin(); input != node->inputs.rend(); ++input) stack.push_back(input->get());
  }
  return leaves;
}

}  // namespace

std::string names_of_leaves(const NodePtr& root) {
  std::vector<std::string> names;
  for (const Node* leaf : leaves_of(root)) {
    std::string name = leaf->source->name();
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  if (names.empty()) return "constants";
  std::string text = names[0];
  for (std::size_t i = 1; i < names.size() && i < 3; ++i) text += " and " + names[i];
  return names.size() > 3 ? text + " and others" : text;
}

std::uint64_t stamp_of_leaves(const NodePtr& root) {
  std::uint64_t stamp = 0;
  for (const Node* leaf : leaves_of(root)) stamp = stamp * 0x9E3779B97F4A7C15u + leaf->source->stamp();
  return stamp;
}

std::string ExpressionSource::name() const { return "an expression of " + names_of_leaves(root_); }

std::uint64_t ExpressionSource::stamp() const { return stamp_of_leaves(root_); }

Needs ExpressionSource::needs(std::span<Box> boxes) const {
  Needs all;
  for (Box& box : boxes) {
    auto lowering = std::make_shared<MapLowering>(root_, root_->shape, &box.elements);
    const Needs one = Pass::needs(lowering->program, {}, lowering->beside());
    all.least_bytes = std::max(all.least_bytes, one.least_bytes);
    all.most_bytes = std::max(all.most_bytes, one.most_bytes);
    box.lowering = std::move(lowering);
  }
  return all;
}

Needs ExpressionSource::needs_of_any(std::int64_t) const {
  const MapLowering whole(root_, root_->shape, nullptr);
  return Pass::needs(whole.program, {}, whole.beside());
}

void ExpressionSource::read(std::span<const Box> boxes, Workspace& workspace) const {
  for (const Box& box : boxes) {
    if (box.elements.size() == 0) continue;
    const auto& way = static_cast<const MapLowering&>(*box.lowering);
    Pass pass(way.program, {}, way.beside(), workspace);
    std::vector<std::int64_t> strides;
    for (const std::size_t axis : pass.plan().order) strides.push_back(box.strides_bytes[axis]);
    for (Tile tile; pass.tiles().next(tile);) {
      std::byte* place = box.memory;
      for (std::size_t i = 0; i < strides.size(); ++i) place += tile.begin[i] * strides[i];
      map_into(way, pass, tile, place, strides);
    }
  }
}

std::unique_ptr<RowReader> ExpressionSource::row_reader(const Selection& selection, std::int64_t rows,
                                                        Workspace& workspace) const {
  return std::make_unique<MapReader>(root_, selection, rows, workspace);
}

}  // namespace lowtide
