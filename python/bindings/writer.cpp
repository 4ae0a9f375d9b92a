#include <memory>

#include "bindings.h"

namespace lowtide::python {
namespace {

SaveOptions save_options(const std::optional<std::string>& dtype, const std::string& order,
                         const std::optional<std::string>& format, bool overwrite, const nb::object& progress) {
  SaveOptions options;
  if (dtype) options.dtype = parse_dtype(*dtype);
  options.order = parse_order(order);
  options.format = format;
  options.overwrite = overwrite;
  if (!progress.is_none()) {
    // The core copies and drops its function without Python's lock.
    const std::shared_ptr<nb::object> call(new nb::object(progress), [](nb::object* last) {
      const GilHeld gil;
      delete last;
    });
    options.progress = [call](std::uint64_t done, std::uint64_t total) {
      const GilHeld gil;
      or_sleep_at_exit([&] { (*call)(done, total); });
    };
  }
  return options;
}

}  // namespace

void bind_writer(nb::module_& m) {
  nb::class_<Writer>(m, "Writer")
      .def_prop_ro("shape", [](const Writer& w) { return nb::tuple(nb::cast(w.shape())); })
      .def_prop_ro("dtype", [](const Writer& w) { return name(w.dtype()); })
      .def_prop_ro("path", [](const Writer& w) { return FsText{w.path()}; })
      .def_prop_ro("closed", &Writer::closed)
      .def(
          "assign",
          [](Writer& w, nb::handle indices, nb::handle values, std::string_view dtype) {
            const Indices converted(indices);
            const BufferView buffer(values);
            const ConstView view = const_view(buffer, dtype);
            const GilReleased nogil;
            w.assign(converted.get(), view);
          },
          nb::arg("indices"), nb::arg("values"), nb::arg("dtype"))
      .def(
          "append",
          [](Writer& w, nb::handle rows, std::string_view dtype) {
            const BufferView buffer(rows);
            const ConstView view = const_view(buffer, dtype);
            const GilReleased nogil;
            w.append(view);
          },
          nb::arg("rows"), nb::arg("dtype"))
      .def("close", &Writer::close, Nogil())
      .def("discard", &Writer::discard, Nogil());

  m.def(
      "create",
      [](const FsText& path, const Shape& shape, const std::string& dtype, const std::string& order,
         const std::optional<std::string>& format, bool overwrite) {
        return create(path.bytes, {shape, parse_dtype(dtype), parse_order(order), format, overwrite});
      },
      nb::arg("path"), nb::arg("shape"), nb::arg("dtype"), nb::arg("order"), nb::arg("format").none(),
      nb::arg("overwrite"), Nogil());
  m.def(
      "save_array",
      [](const FsText& path, const Array& array, const std::optional<std::string>& dtype, const std::string& order,
         const std::optional<std::string>& format, bool overwrite, const nb::object& progress) {
        const SaveOptions options = save_options(dtype, order, format, overwrite, progress);
        const GilReleased nogil;
        save(path.bytes, array, options);
      },
      nb::arg("path"), nb::arg("array"), nb::arg("dtype").none(), nb::arg("order"), nb::arg("format").none(),
      nb::arg("overwrite"), nb::arg("progress").none());
  m.def(
      "save_values",
      [](const FsText& path, nb::handle values, std::string_view values_dtype, const std::optional<std::string>& dtype,
         const std::string& order, const std::optional<std::string>& format, bool overwrite,
         const nb::object& progress) {
        const BufferView buffer(values);
        const ConstView view = const_view(buffer, values_dtype);
        const SaveOptions options = save_options(dtype, order, format, overwrite, progress);
        const GilReleased nogil;
        save(path.bytes, view, options);
      },
      nb::arg("path"), nb::arg("values"), nb::arg("values_dtype"), nb::arg("dtype").none(), nb::arg("order"),
      nb::arg("format").none(), nb::arg("overwrite"), nb::arg("progress").none());
}

}  // namespace lowtide::python
