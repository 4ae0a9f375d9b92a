#include "bindings.h"
#include "lowtide/array/read.h"

namespace lowtide::python {
namespace {

nb::dlpack::dtype dlpack_dtype(DType dtype) {
  using nb::dlpack::dtype_code;
  const auto bits = static_cast<std::uint8_t>(8 * itemsize(dtype));
  const std::string_view text = name(dtype);
  dtype_code code = dtype_code::Float;
  if (text.starts_with("int")) code = dtype_code::Int;
  if (text.starts_with("uint") || dtype == DType::bfloat16)
    code = dtype_code::UInt;  // viewed as ml_dtypes.bfloat16 in Python
  if (text.starts_with("complex")) code = dtype_code::Complex;
  if (text == "bool") code = dtype_code::Bool;
  return {static_cast<std::uint8_t>(code), bits, 1};
}

Array open_array(const std::string& path, const std::string& mode, const std::optional<std::string>& dtype,
                 const std::optional<Shape>& shape, std::uint64_t offset, const std::string& order, bool big_endian,
                 bool live) {
  OpenOptions options;
  options.mode = mode == "r+" ? Mode::read_write : Mode::read;
  if (dtype) options.dtype = parse_dtype(*dtype);
  options.shape = shape;
  options.offset = offset;
  options.order = parse_order(order);
  options.endian = big_endian ? Endian::big : Endian::little;
  options.live = live;
  return open(path, options);
}

}  // namespace

nb::ndarray<nb::numpy> to_numpy(Buffer buffer) {
  const std::vector<std::size_t> shape(buffer.shape().begin(), buffer.shape().end());
  const DType dtype = buffer.dtype();
  std::byte* data = buffer.data();
  const nb::capsule owner(new Buffer(std::move(buffer)), [](void* p) noexcept { delete static_cast<Buffer*>(p); });
  return nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, dlpack_dtype(dtype));
}

void bind_array(nb::module_& m) {
  nb::class_<Blocks>(m, "Blocks")
      .def(
          "next",
          [](Blocks& blocks) -> nb::object {
            std::optional<RowBlock> block;
            {
              const GilReleased nogil;
              block = blocks.next();
            }
            if (!block) return nb::none();
            return nb::make_tuple(block->start, to_numpy(std::move(block->buffer)));
          },
          nb::sig("def next(self) -> tuple[int, NDArray] | None"));

  nb::class_<Array>(m, "Array")
      .def_prop_ro("shape", [](const Array& a) { return nb::tuple(nb::cast(a.shape())); })
      .def_prop_ro("ndim", &Array::ndim)
      .def_prop_ro("size", &Array::size)
      .def_prop_ro("nbytes", &Array::size_bytes)
      .def_prop_ro("dtype", [](const Array& a) { return name(a.dtype()); })
      .def_prop_ro("path", &Array::path)
      .def_prop_ro("format", &Array::format)
      .def_prop_ro("order", [](const Array& a) { return a.order() == Order::c ? "C" : "F"; })
      .def_prop_ro("big_endian", [](const Array& a) { return a.endian() == Endian::big; })
      .def_prop_ro("data_offset", &Array::data_offset)
      .def_prop_ro("io_mode", &Array::io_mode)
      .def_prop_ro("writable", &Array::writable)
      .def_prop_ro("least_budget", &Array::least_budget_bytes)
      .def(
          "index", [](const Array& a, nb::handle indices) { return a.index(Indices(indices).get()); },
          nb::arg("indices"))
      .def(
          "transpose", [](const Array& a, const std::vector<std::size_t>& axes) { return a.transpose(axes); },
          nb::arg("axes"))
      .def("read",
           [](const Array& a) {
             Buffer buffer;
             {
               const GilReleased nogil;
               buffer = a.read();
             }
             return to_numpy(std::move(buffer));
           })
      .def(
          "read_at",
          [](const Array& a, nb::handle indices) {
            const Indices converted(indices);
            Buffer buffer;
            {
              const GilReleased nogil;
              buffer = a.read(converted.get());
            }
            return to_numpy(std::move(buffer));
          },
          nb::arg("indices"))
      .def(
          "blocks", [](const Array& a, std::int64_t rows) { return a.blocks(rows); }, nb::arg("rows"), Nogil())
      .def(
          "assign",
          [](Array& a, nb::handle indices, nb::handle values, std::string_view dtype) {
            const Indices converted(indices);
            const BufferView buffer(values);
            const ConstView view = const_view(buffer, dtype);
            const GilReleased nogil;
            a.assign(converted.get(), view);
          },
          nb::arg("indices"), nb::arg("values"), nb::arg("dtype"))
      .def("flush", &Array::flush, Nogil());

  m.def(
      "empty",
      [](const Shape& shape, std::string_view dtype) { return to_numpy(new_buffer(shape, parse_dtype(dtype))); },
      nb::arg("shape"), nb::arg("dtype"), "Memory for a result, leased until it is garbage collected.");
  m.def("open", &open_array, nb::arg("path"), nb::arg("mode"), nb::arg("dtype").none(), nb::arg("shape").none(),
        nb::arg("offset"), nb::arg("order"), nb::arg("big_endian"), nb::arg("live"), Nogil());
}

}  // namespace lowtide::python
