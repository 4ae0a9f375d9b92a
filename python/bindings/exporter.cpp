// Objects that are read when somebody asks for their memory. Python before 3.12 has no __buffer__ for classes of its own.
#include "bindings.h"

namespace lowtide::python {
namespace {

// What _exported() gives, an ndarray, is the memory and its owner.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  PyErr_Clear();  // PyTorch asks for writable memory first and then, with that error still set, for any
  PyObject* array = PyObject_CallMethod(self, "_exported", nullptr);
  if (array == nullptr) {
    view->obj = nullptr;
    return -1;
  }
  const int result = PyObject_GetBuffer(array, view, flags);
  Py_DECREF(array);
  return result;
}

PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};
PyType_Spec spec = {"lowtide._core.BufferExporter", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

void bind_exporter(nb::module_& m) { m.attr("BufferExporter") = nb::steal(PyType_FromSpec(&spec)); }

}  // namespace lowtide::python
