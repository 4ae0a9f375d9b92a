#include <array>

#include "bindings.h"
#include "lowtide/array/read.h"
#include "lowtide/source/file_source.h"

namespace lowtide::python {
namespace {

Array open_array(const FsText& path, const std::string& mode, const std::optional<std::string>& dtype,
                 const std::optional<Shape>& shape, std::uint64_t offset, const std::optional<std::string>& order,
                 bool big_endian, bool live, const std::optional<std::string>& key) {
  OpenOptions options;
  options.mode = mode == "r+" ? Mode::read_write : Mode::read;
  if (dtype) options.dtype = parse_dtype(*dtype);
  options.shape = shape;
  options.offset = offset;
  if (order) options.order = parse_order(*order);
  options.endian = big_endian ? Endian::big : Endian::little;
  options.live = live;
  options.key = key;
  return open(path.bytes, options);
}

// How many there are, if the index is an int or a few of them and nothing else.
std::optional<std::size_t> whole_numbers(nb::handle index, std::span<std::int64_t> out) {
  const auto number = [](PyObject* item, std::int64_t& value) {
    int overflow = 1;
    if (PyLong_CheckExact(item)) value = PyLong_AsLongLongAndOverflow(item, &overflow);
    return overflow == 0;
  };
  if (number(index.ptr(), out[0])) return 1;
  if (!PyTuple_CheckExact(index.ptr())) return std::nullopt;
  const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(index.ptr()));
  if (count > out.size()) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    if (!number(PyTuple_GET_ITEM(index.ptr(), i), out[i])) return std::nullopt;
  }
  return count;
}

io::Stamp current_stamp(const FileSource& source) {
  if (source.live()) {
    const io::File::Pin pin = source.file().pin();
    source.file().follow_changes();
  }
  return source.file().stamp();
}

// A view without index arrays as a flat list of numbers, whatever chain of indexing made it; nothing for others.
std::optional<std::vector<std::int64_t>> view_of(const Array& array) {
  const Selection& selection = array.selection();
  if (!selection.tables().empty()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Input& input : selection.inputs()) numbers.insert(numbers.end(), {input.extent, input.start});
  for (const Axis& axis : selection.axes())
    numbers.insert(numbers.end(), {axis.extent, axis.step, static_cast<std::int64_t>(axis.input)});
  return numbers;
}

Array with_view(const Array& whole, const std::vector<std::int64_t>& numbers) {
  const Shape& shape = whole.source()->shape();
  std::vector<Input> inputs;
  std::vector<Axis> axes;
  std::size_t at = 0;
  for (; inputs.size() < shape.size() && at + 2 <= numbers.size(); at += 2) {
    inputs.push_back({numbers[at], numbers[at + 1]});
    if (inputs.back().extent != shape[inputs.size() - 1]) throw std::invalid_argument("a view of another array");
  }
  for (; at + 3 <= numbers.size(); at += 3)
    axes.push_back({numbers[at], numbers[at + 1], static_cast<std::size_t>(numbers[at + 2])});
  const auto item = static_cast<std::int64_t>(itemsize(whole.dtype()));
  return whole.with(
      Selection::restored(std::move(inputs), std::move(axes), std::numeric_limits<std::int64_t>::max() / item));
}

}  // namespace

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
          nb::sig("def next(self) -> tuple[int, numpy.typing.NDArray] | None"));

  nb::class_<Array>(m, "Array")
      .def_prop_ro("shape", [](const Array& a) { return nb::tuple(nb::cast(a.shape())); })
      .def_prop_ro("ndim", &Array::ndim)
      .def_prop_ro("size", &Array::size)
      .def_prop_ro("nbytes", &Array::size_bytes)
      .def_prop_ro("dtype", [](const Array& a) { return name(a.dtype()); })
      .def_prop_ro("path", [](const Array& a) { return FsText{a.path()}; })
      .def_prop_ro("is_file", [](const Array& a) { return a.source()->in_one_file() != nullptr; })
      .def_prop_ro("absolute_path",
                   [](const Array& a) { return FsText{a.source()->in_one_file()->file().absolute_path()}; })
      .def(
          "stamp",
          [](const Array& a) {
            const io::Stamp s = current_stamp(*a.source()->in_one_file());
            return nb::make_tuple(s.device, s.inode, s.size_bytes, s.mtime_ns, s.ctime_ns);
          },
          "(device, inode, bytes, mtime in ns, ctime in ns) of the file in the state that is read.")
      .def_prop_ro("format", &Array::format)
      .def_prop_ro("order", [](const Array& a) { return a.order() == Order::c ? "C" : "F"; })
      .def_prop_ro("big_endian", [](const Array& a) { return a.endian() == Endian::big; })
      .def_prop_ro("data_offset", &Array::data_offset)
      .def_prop_ro("io_mode", &Array::io_mode)
      .def_prop_ro("writable", &Array::writable)
      .def_prop_ro("least_budget", &Array::least_budget_bytes)
      .def(
          "index",
          [](const Array& a, nb::handle indices) {
            const Indices converted(indices);
            const GilReleased nogil;
            return a.index(converted.get());
          },
          nb::arg("indices"))
      .def(
          "view",
          [](const Array& a) -> nb::object {
            const auto numbers = view_of(a);
            return numbers ? nb::object(nb::tuple(nb::cast(*numbers))) : nb::none();
          },
          nb::sig("def view(self) -> tuple[int, ...] | None"))
      .def("with_view", &with_view, nb::arg("numbers"))
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
          "element",
          [](const Array& a, nb::handle index) -> nb::object {
            std::array<std::int64_t, 8> places;
            const auto count = whole_numbers(index, places);
            if (!count) return nb::none();
            std::array<std::byte, 16> element;
            bool found;
            {
              const GilReleased nogil;
              const FileSource* file = a.source()->in_one_file();
              found = file != nullptr &&
                      file->read_warm_element(a.selection(), std::span(places).first(*count), element.data());
            }
            return found ? to_scalar(element.data(), a.dtype()) : nb::none();
          },
          nb::arg("index").none(), "The element at an int or a tuple of ints, if it is in the page cache; else None.")
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
      [](const Shape& shape, std::string_view dtype) {
        Buffer buffer;
        {
          const GilReleased nogil;
          buffer = new_buffer(shape, parse_dtype(dtype));
        }
        return to_numpy(std::move(buffer));
      },
      nb::arg("shape"), nb::arg("dtype"), "Memory for a result, leased until it is garbage collected.");
  m.def("open", &open_array, nb::arg("path"), nb::arg("mode"), nb::arg("dtype").none(), nb::arg("shape").none(),
        nb::arg("offset"), nb::arg("order").none(), nb::arg("big_endian"), nb::arg("live"),
        nb::arg("key").none() = nb::none(), Nogil());
}

}  // namespace lowtide::python
