// Results as NumPy's own arrays and scalars, by its C interface: a tenth of the cost of the buffer protocol, and int64 is np.int64.
#include "bindings.h"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

namespace lowtide::python {
namespace {

constexpr int type_numbers[dtype_count] = {
    NPY_BOOL,   NPY_INT8,   NPY_INT16,  NPY_INT32,   NPY_INT64,  NPY_UINT8,
    NPY_UINT16, NPY_UINT32, NPY_UINT64, NPY_HALF,    NPY_UINT16,  // bfloat16, viewed as ml_dtypes.bfloat16 in Python
    NPY_FLOAT,  NPY_DOUBLE, NPY_CFLOAT, NPY_CDOUBLE,
};

PyArray_Descr* descriptor(DType dtype) { return PyArray_DescrFromType(type_numbers[static_cast<std::size_t>(dtype)]); }

void drop(PyObject* capsule) { delete static_cast<Buffer*>(PyCapsule_GetPointer(capsule, nullptr)); }

}  // namespace

void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
}

NumpyArray to_numpy(Buffer buffer) {
  const std::vector<npy_intp> shape(buffer.shape().begin(), buffer.shape().end());
  std::byte* data = buffer.data();
  PyObject* array = PyArray_NewFromDescr(&PyArray_Type, descriptor(buffer.dtype()), static_cast<int>(shape.size()),
                                         shape.data(), nullptr, data, data != nullptr ? NPY_ARRAY_CARRAY : 0, nullptr);
  if (array == nullptr) throw nb::python_error();
  NumpyArray result = nb::steal<NumpyArray>(array);
  if (data == nullptr) return result;
  PyObject* owner = PyCapsule_New(new Buffer(std::move(buffer)), nullptr, drop);
  if (owner == nullptr || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(array), owner) < 0)
    throw nb::python_error();
  return result;
}

nb::object to_scalar(const std::byte* element, DType dtype) {
  PyArray_Descr* type = descriptor(dtype);
  PyObject* scalar = PyArray_Scalar(const_cast<std::byte*>(element), type, nullptr);
  Py_DECREF(type);
  if (scalar == nullptr) throw nb::python_error();
  return nb::steal(scalar);
}

}  // namespace lowtide::python
