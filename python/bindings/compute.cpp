#include "lowtide/compute.h"

#include <nlohmann/json.hpp>

#include "bindings.h"

namespace lowtide::python {
namespace {

Scalar to_scalar_term(nb::handle value) {
  PyObject* object = value.ptr();
  if (PyBool_Check(object)) return Scalar(object == Py_True);
  if (PyLong_Check(object)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return Scalar(static_cast<std::int64_t>(number));
    const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    if (overflow < 0 || PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      throw std::overflow_error("Python integer too large for any dtype of lowtide");
    }
    return Scalar(static_cast<std::uint64_t>(large));
  }
  if (PyComplex_Check(object)) {
    return Scalar(std::complex<double>(PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)));
  }
  const double number = PyFloat_AsDouble(object);
  if (number == -1.0 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return Scalar(number);
}

std::vector<Term> to_terms(const nb::list& operands) {
  std::vector<Term> terms;
  for (nb::handle operand : operands) {
    if (nb::isinstance<Array>(operand)) {
      terms.emplace_back(nb::cast<Array>(operand));
    } else {
      terms.emplace_back(to_scalar_term(operand));
    }
  }
  return terms;
}

// The buffer is given back with the GIL held, from whatever thread drops the last array made of it.
std::shared_ptr<const void> keep(BufferView view) {
  return std::shared_ptr<BufferView>(new BufferView(std::move(view)), [](BufferView* pointer) {
    if (!Py_IsInitialized()) return;
    if (released_state != nullptr || PyGILState_Check() != 0) {
      const GilHeld gil;
      delete pointer;
      return;
    }
    const PyGILState_STATE state = PyGILState_Ensure();
    delete pointer;
    PyGILState_Release(state);
  });
}

std::string json_text(const Explanation& explanation) {
  nlohmann::ordered_json passes = nlohmann::ordered_json::array();
  for (const Explanation::Pass& pass : explanation.passes) {
    passes.push_back({{"what", pass.what},
                      {"space", pass.space},
                      {"reads", pass.reads},
                      {"read_bytes", pass.read_bytes},
                      {"program", pass.program}});
  }
  return nlohmann::ordered_json{{"least_bytes", explanation.least_bytes},   {"stream_bytes", explanation.stream_bytes},
                                {"peak_bytes", explanation.peak_bytes},     {"read_bytes", explanation.read_bytes},
                                {"result_bytes", explanation.result_bytes}, {"passes", passes}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

void bind_compute(nb::module_& m) {
  m.def(
      "elementwise",
      [](std::string_view name, const nb::list& operands) { return elementwise(name, to_terms(operands)); },
      nb::arg("name"), nb::arg("operands"));
  m.def(
      "astype", [](const Array& a, std::string_view dtype) { return astype(a, parse_dtype(dtype)); }, nb::arg("array"),
      nb::arg("dtype"));
  m.def(
      "result_type",
      [](const nb::list& operands) {
        std::vector<std::variant<DType, Scalar>> terms;
        for (nb::handle operand : operands) {
          if (nb::isinstance<Array>(operand)) {
            terms.emplace_back(nb::cast<Array&>(operand).dtype());
          } else if (nb::isinstance<nb::str>(operand)) {
            terms.emplace_back(parse_dtype(nb::cast<std::string>(operand)));
          } else {
            terms.emplace_back(to_scalar_term(operand));
          }
        }
        return name(result_type(terms));
      },
      nb::arg("operands"));
  m.def(
      "reduce",
      [](std::string_view name, const Array& a, const std::vector<std::int64_t>& axes, bool keepdims,
         const std::optional<std::string>& dtype, double correction) {
        ReduceOptions options{.axes = axes, .keepdims = keepdims, .correction = correction};
        if (dtype) options.dtype = parse_dtype(*dtype);
        return reduce(name, a, options);
      },
      nb::arg("name"), nb::arg("array"), nb::arg("axes"), nb::arg("keepdims") = false, nb::arg("dtype") = nb::none(),
      nb::arg("correction") = 0.0);
  m.def(
      "cumulative",
      [](std::string_view name, const Array& a, std::int64_t axis, const std::optional<std::string>& dtype,
         bool include_initial) {
        const Array running = cumulative(name, a, axis, dtype ? std::optional(parse_dtype(*dtype)) : std::nullopt);
        if (!include_initial) return running;
        Shape first = running.shape();
        first.at(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(first.size()) : axis)) = 1;
        const std::vector<Array> parts{full(first, name == "sum" ? 0 : 1, running.dtype()), running};
        return concat(parts, axis);
      },
      nb::arg("name"), nb::arg("array"), nb::arg("axis"), nb::arg("dtype") = nb::none(),
      nb::arg("include_initial") = false);
  m.def("matmul", &matmul, nb::arg("a"), nb::arg("b"));
  m.def("broadcast_to", &broadcast_to, nb::arg("array"), nb::arg("shape"));
  m.def("reshape", &reshape, nb::arg("array"), nb::arg("shape"));
  m.def(
      "concat", [](const std::vector<Array>& arrays, std::int64_t axis) { return concat(arrays, axis); },
      nb::arg("arrays"), nb::arg("axis") = 0);
  m.def(
      "full",
      [](const Shape& shape, nb::handle value, std::string_view dtype) {
        return full(shape, to_scalar_term(value), parse_dtype(dtype));
      },
      nb::arg("shape"), nb::arg("value"), nb::arg("dtype"));
  m.def(
      "arange",
      [](nb::handle start, nb::handle step, std::int64_t count, std::string_view dtype) {
        return arange(to_scalar_term(start), to_scalar_term(step), count, parse_dtype(dtype));
      },
      nb::arg("start"), nb::arg("step"), nb::arg("count"), nb::arg("dtype"));
  m.def(
      "linspace",
      [](double start, double stop, std::int64_t count, bool endpoint, std::string_view dtype) {
        return linspace(start, stop, count, endpoint, parse_dtype(dtype));
      },
      nb::arg("start"), nb::arg("stop"), nb::arg("count"), nb::arg("endpoint"), nb::arg("dtype"));
  m.def(
      "random",
      [](std::string_view kind, const Shape& shape, std::uint64_t seed, std::string_view dtype, double low,
         double high) { return random(kind, shape, seed, parse_dtype(dtype), low, high); },
      nb::arg("kind"), nb::arg("shape"), nb::arg("seed"), nb::arg("dtype"), nb::arg("low"), nb::arg("high"));
  m.def(
      "from_memory",
      [](nb::handle values, std::string_view dtype) {
        BufferView buffer(values);
        const ConstView view = const_view(buffer, dtype);
        return from_memory(view, keep(std::move(buffer)));
      },
      nb::arg("values"), nb::arg("dtype"));
  m.def("explain", [](const std::vector<Array>& arrays) { return json_text(explain(arrays)); }, nb::arg("arrays"));
  m.def(
      "compute",
      [](const std::vector<Array>& arrays) {
        std::vector<Buffer> buffers;
        {
          const GilReleased nogil;
          buffers = compute(arrays);
        }
        nb::list results;
        for (Buffer& buffer : buffers) results.append(to_numpy(std::move(buffer)));
        return results;
      },
      nb::arg("arrays"));
}

}  // namespace lowtide::python
