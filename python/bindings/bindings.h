// What the binding files share. Bindings hold no logic: one line a call, the GIL released around anything that can wait.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lowtide/lowtide.h"

namespace nb = nanobind;

namespace lowtide::python {

// The bytes of a path or of a text that names one: str (as os.fsencode gives it, so that names that are no UTF-8 survive) or bytes from
// Python, str to it.
struct FsText {
  std::string bytes;
};

}  // namespace lowtide::python

namespace nanobind::detail {

template <>
struct type_caster<lowtide::python::FsText> {
  NB_TYPE_CASTER(lowtide::python::FsText, io_name("str | bytes", "str"))

  bool from_python(handle source, std::uint8_t, cleanup_list*) noexcept {
    const object encoded = steal(PyUnicode_Check(source.ptr()) ? PyUnicode_EncodeFSDefault(source.ptr())
                                 : PyBytes_Check(source.ptr()) ? source.inc_ref().ptr()
                                                               : nullptr);
    if (!encoded.is_valid()) {
      PyErr_Clear();
      return false;
    }
    value.bytes.assign(PyBytes_AS_STRING(encoded.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.ptr())));
    return true;
  }
  static handle from_cpp(const lowtide::python::FsText& text, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeFSDefaultAndSize(text.bytes.data(), static_cast<Py_ssize_t>(text.bytes.size()));
  }
};

}  // namespace nanobind::detail

namespace lowtide::python {

// Runs what may ask for the GIL. While the interpreter goes away, Python before 3.14 ends a thread that asks by unwinding it, which
// no destructor survives; here such a thread sleeps until the process is gone, as in later versions.
template <class Work>
auto or_sleep_at_exit(Work work) {
  try {
    return work();
  } catch (const abi::__forced_unwind&) {
    while (true) pause();
  }
}

inline thread_local PyThreadState* released_state = nullptr;  // of this thread, while it does not hold the GIL

// The GIL given up for a scope.
class GilReleased {
 public:
  GilReleased() { released_state = PyEval_SaveThread(); }
  ~GilReleased() {
    or_sleep_at_exit([] { PyEval_RestoreThread(std::exchange(released_state, nullptr)); });
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;
};

// The GIL taken back for a scope within that one; does nothing where it is held. Not PyGILState_Ensure, which crashes at exit.
class GilHeld {
 public:
  GilHeld() : taken_(released_state != nullptr) {
    if (taken_) or_sleep_at_exit([] { PyEval_RestoreThread(std::exchange(released_state, nullptr)); });
  }
  ~GilHeld() {
    if (taken_) released_state = PyEval_SaveThread();
  }
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

 private:
  bool taken_;
};

using Nogil = nb::call_guard<GilReleased>;

void bind_errors(nb::module_& m);
void bind_budget(nb::module_& m);
void bind_array(nb::module_& m);
void bind_compute(nb::module_& m);
void bind_writer(nb::module_& m);
void bind_exporter(nb::module_& m);
void bind_mapping(nb::module_& m);
void bind_info(nb::module_& m);
void bind_doctor(nb::module_& m);
void bind_permutation(nb::module_& m);
void bind_row_loader(nb::module_& m);
void bind_token_loader(nb::module_& m);

// Only a name for what functions return.
class NumpyArray : public nb::object {
  NB_OBJECT(NumpyArray, nb::object, "numpy.typing.NDArray", PyObject_CheckBuffer)
};
void import_numpy();  // before the others
// The array keeps the buffer, and with it the lease, until it is garbage collected.
NumpyArray to_numpy(Buffer buffer);
nb::object to_scalar(const std::byte* element, DType dtype);

// A buffer-protocol view of a Python object, released when it goes.
class BufferView {
 public:
  explicit BufferView(nb::handle object);
  BufferView(BufferView&& other) noexcept;
  BufferView& operator=(BufferView&&) = delete;
  ~BufferView();
  const void* data() const { return view_.buf; }
  bool is_bool() const { return view_.format != nullptr && view_.format[0] == '?'; }
  Shape shape() const { return {view_.shape, view_.shape + view_.ndim}; }
  std::vector<std::int64_t> strides() const { return {view_.strides, view_.strides + view_.ndim}; }

 private:
  Py_buffer view_{};
  bool held_ = false;
};

// `dtype` is a name, with > before it for big-endian memory.
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
