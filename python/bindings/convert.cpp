#include <bit>

#include "bindings.h"

namespace lowtide::python {
namespace {

std::optional<std::int64_t> bound(nb::handle value) {
  if (value.is_none()) return std::nullopt;
  return nb::cast<std::int64_t>(value);
}

}  // namespace

BufferView::BufferView(nb::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_STRIDES | PyBUF_FORMAT) != 0) throw nb::python_error();
  held_ = true;
}

BufferView::BufferView(BufferView&& other) noexcept : view_(other.view_), held_(std::exchange(other.held_, false)) {}

BufferView::~BufferView() {
  if (held_) PyBuffer_Release(&view_);
}

ConstView const_view(const BufferView& buffer, std::string_view dtype) {
  const bool big_endian = dtype.starts_with('>');
  return {static_cast<const std::byte*>(buffer.data()), buffer.shape(), buffer.strides(),
          parse_dtype(dtype.substr(big_endian ? 1 : 0)), big_endian ? Endian::big : Endian::little};
}

Indices::Indices(nb::handle tuple) {
  const nb::sequence items = nb::borrow<nb::sequence>(tuple);
  buffers_.reserve(nb::len(items));
  for (nb::handle item : items) {
    if (item.is_none()) {
      indices_.emplace_back(NewAxis{});
    } else if (item.ptr() == Py_Ellipsis) {
      indices_.emplace_back(Ellipsis{});
    } else if (PyLong_Check(item.ptr()) && !PyBool_Check(item.ptr())) {
      indices_.emplace_back(nb::cast<std::int64_t>(item));
    } else if (PySlice_Check(item.ptr())) {
      indices_.emplace_back(Slice{bound(item.attr("start")), bound(item.attr("stop")), bound(item.attr("step"))});
    } else {
      const BufferView& view = buffers_.emplace_back(item);
      if (view.is_bool()) {
        indices_.emplace_back(Mask{static_cast<const bool*>(view.data()), view.shape(), view.strides()});
      } else {
        indices_.emplace_back(IndexArray{static_cast<const std::int64_t*>(view.data()), view.shape(), view.strides()});
      }
    }
  }
}

Order parse_order(std::string_view text) {
  if (text == "C") return Order::c;
  if (text == "F") return Order::fortran;
  throw std::invalid_argument("order must be \"C\" or \"F\"");
}

}  // namespace lowtide::python
