#include "lowtide/exec/reduce_source.h"

#include <algorithm>

#include "lowtide/exec/expression_source.h"
#include "lowtide/exec/reduce_pass.h"

namespace lowtide {
namespace {

struct ReduceLowering final : Lowering {
  ReduceLowering(const NodePtr& root, const Selection& elements, std::size_t kept_ndim, const ReduceSpec& spec)
      : pass(make_program({&root, 1}, root->shape, &elements), kept_ndim, {spec}) {}
  ReducePass pass;
};

}  // namespace

ReduceSource::ReduceSource(NodePtr root, std::vector<std::size_t> axes, ReduceSpec spec)
    : root_(std::move(root)), axes_(std::move(axes)), spec_(std::move(spec)) {
  for (std::size_t i = 0; i < root_->shape.size(); ++i) {
    if (std::ranges::count(axes_, i) > 0) continue;
    kept_.push_back(i);
    shape_.push_back(root_->shape[i]);
  }
}

std::string ReduceSource::name() const { return "the " + spec_.name + " of " + names_of_leaves(root_); }
std::uint64_t ReduceSource::stamp() const { return stamp_of_leaves(root_); }

Selection ReduceSource::elements_of(const Selection& result) const { return result.within(root_->shape, kept_); }

Needs ReduceSource::needs(std::span<Box> boxes) const {
  Needs all;
  for (Box& box : boxes) {
    auto lowering = std::make_shared<ReduceLowering>(root_, elements_of(box.elements), box.elements.ndim(), spec_);
    const Needs one = lowering->pass.needs();
    all.least_bytes = std::max(all.least_bytes, one.least_bytes);
    all.most_bytes = std::max(all.most_bytes, one.most_bytes);
    box.lowering = std::move(lowering);
  }
  return all;
}

Needs ReduceSource::needs_of_any(std::int64_t) const {
  const Selection all = whole();
  return ReduceLowering(root_, elements_of(all), all.ndim(), spec_).pass.needs();
}

void ReduceSource::read(std::span<const Box> boxes, Workspace& workspace) const {
  for (const Box& box : boxes) {
    if (box.elements.size() == 0) continue;
    const StridedView result{box.memory, box.strides_bytes};
    static_cast<const ReduceLowering&>(*box.lowering).pass.run(workspace, {&result, 1});
  }
}

}  // namespace lowtide
