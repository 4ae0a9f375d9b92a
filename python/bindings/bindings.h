// What the binding files share. Bindings hold no logic: one line a call, the GIL released around anything that can wait.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <vector>

#include "lowtide/lowtide.h"

namespace nb = nanobind;

namespace lowtide::python {

using Nogil = nb::call_guard<nb::gil_scoped_release>;

void bind_errors(nb::module_& m);
void bind_budget(nb::module_& m);
void bind_array(nb::module_& m);
void bind_writer(nb::module_& m);
void bind_mapping(nb::module_& m);
void bind_info(nb::module_& m);

// A buffer-protocol view of a Python object, released when it goes.
class BufferView {
 public:
  explicit BufferView(nb::handle object);
  BufferView(BufferView&& other) noexcept;
  BufferView& operator=(BufferView&&) = delete;
  ~BufferView();
  const void* data() const { return view_.buf; }
  Shape shape() const { return {view_.shape, view_.shape + view_.ndim}; }
  std::vector<std::int64_t> strides() const { return {view_.strides, view_.strides + view_.ndim}; }

 private:
  Py_buffer view_{};
  bool held_ = false;
};

ConstView const_view(const BufferView& buffer, std::string_view dtype);

// Python indices, normalised by lowtide._index: int, slice, None, Ellipsis, int64 or bool buffers.
class Indices {
 public:
  explicit Indices(nb::handle tuple);
  std::span<const Index> get() const { return indices_; }

 private:
  std::vector<BufferView> buffers_;
  std::vector<Index> indices_;
};

Order parse_order(std::string_view text);

}  // namespace lowtide::python
