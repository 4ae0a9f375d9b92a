// lowtide::compute: results that share their elements are computed in one pass.
#include "lowtide/compute.h"

#include <algorithm>
#include <numeric>

#include "lowtide/array/read.h"
#include "lowtide/exec/array_node.h"
#include "lowtide/exec/expression_source.h"
#include "lowtide/exec/map.h"
#include "lowtide/exec/reduce_pass.h"
#include "lowtide/exec/reduce_source.h"

namespace lowtide {
namespace {

const ReduceSource* reduction_of(const Array& array) { return dynamic_cast<const ReduceSource*>(array.source().get()); }

// Whether two arrays are reductions over the same elements, so that one pass gives both.
bool together(const Array& a, const Array& b) {
  const ReduceSource* x = reduction_of(a);
  const ReduceSource* y = reduction_of(b);
  return x != nullptr && y != nullptr && x->root()->shape == y->root()->shape && x->axes() == y->axes() &&
         a.selection() == b.selection();
}

void reduce_together(std::span<const Array> arrays, std::span<const std::size_t> group, std::vector<Buffer>& results) {
  const ReduceSource& first = *reduction_of(arrays[group[0]]);
  const Selection elements = first.elements_of(arrays[group[0]].selection());
  std::vector<NodePtr> roots;
  std::vector<ReduceSpec> specs;
  for (const std::size_t i : group) {
    roots.push_back(reduction_of(arrays[i])->root());
    specs.push_back(reduction_of(arrays[i])->spec());
  }
  const ReducePass pass(make_program(roots, first.root()->shape, &elements), arrays[group[0]].ndim(), std::move(specs));
  const Needs needs = pass.needs();
  Workspace workspace(needs, Budget::process().take(needs.least_bytes, Purpose::staging, "computing " + first.name()));
  std::vector<StridedView> views;
  for (const std::size_t i : group) {
    results[i] = new_buffer(arrays[i].shape(), arrays[i].dtype());
    views.push_back({results[i].data(), dense_strides(arrays[i].shape(), itemsize(arrays[i].dtype()))});
  }
  if (arrays[group[0]].size() > 0) pass.run(workspace, views);
}

}  // namespace

std::vector<Buffer> compute(std::span<const Array> arrays) {
  std::vector<Buffer> results(arrays.size());
  std::vector<bool> done(arrays.size(), false);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (done[i]) continue;
    std::vector<std::size_t> group{i};
    for (std::size_t j = i + 1; j < arrays.size(); ++j) {
      if (!done[j] && together(arrays[i], arrays[j])) group.push_back(j);
    }
    for (const std::size_t j : group) done[j] = true;
    if (group.size() > 1) {
      reduce_together(arrays, group, results);
    } else {
      results[i] = arrays[i].read();
    }
  }
  return results;
}

}  // namespace lowtide
