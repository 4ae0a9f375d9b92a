#include "lowtide/permutation.h"

#include <stdexcept>
#include <type_traits>

#include "bindings.h"
#include "lowtide/array/read.h"
#include "lowtide/base/interrupt.h"

namespace lowtide::python {
namespace {

constexpr std::int64_t calls_a_slice = 1 << 16;  // a few milliseconds, then Ctrl-C is looked for

// index_at(i) for every item of a new array.
template <class IndexAt>
NumpyArray indices(const Shape& shape, IndexAt index_at) {
  Buffer buffer;
  {
    const GilReleased nogil;
    buffer = new_buffer(shape, DType::int64);
    auto* items = reinterpret_cast<std::int64_t*>(buffer.data());
    const std::int64_t count = buffer.size();
    for (std::int64_t i = 0; i < count; ++i) {
      if (i % calls_a_slice == 0) interrupt_point();
      items[i] = static_cast<std::int64_t>(index_at(i));
    }
  }
  return to_numpy(std::move(buffer));
}

// Negative values, where they are allowed, count from the end.
template <class Integer>
std::uint64_t checked(Integer value, std::uint64_t n, bool from_end, const char* what) {
  auto place = static_cast<std::uint64_t>(value);
  if constexpr (std::is_signed_v<Integer>) {
    if (from_end && value < 0) place += n;
  }
  if (place < n) return place;
  throw std::out_of_range(std::string(what) + " " + std::to_string(value) + " is out of bounds for a permutation of " +
                          std::to_string(n));
}

template <class Integer>
NumpyArray mapped(const Permutation& p, const BufferView& values, bool inverse) {
  const auto* items = static_cast<const Integer*>(values.data());
  if (inverse)
    return indices(values.shape(),
                   [&](std::int64_t i) { return p.inverse(checked(items[i], p.size(), false, "index")); });
  return indices(values.shape(), [&](std::int64_t i) { return p(checked(items[i], p.size(), true, "position")); });
}

}  // namespace

void bind_permutation(nb::module_& m) {
  nb::class_<Permutation>(m, "Permutation")
      .def(nb::init<std::uint64_t, std::uint64_t, std::uint64_t>(), nb::arg("n"), nb::arg("seed"), nb::arg("stream"))
      .def_prop_ro("size", &Permutation::size)
      .def(
          "at",
          [](const Permutation& p, std::uint64_t position) {
            return p(checked(position, p.size(), false, "position"));
          },
          nb::arg("position"))
      .def(
          "inverse_at",
          [](const Permutation& p, std::uint64_t index) { return p.inverse(checked(index, p.size(), false, "index")); },
          nb::arg("index"))
      .def(
          "map",
          [](const Permutation& p, nb::handle values, bool is_signed, bool inverse) {
            const BufferView buffer(values);
            return is_signed ? mapped<std::int64_t>(p, buffer, inverse) : mapped<std::uint64_t>(p, buffer, inverse);
          },
          nb::arg("values"), nb::arg("is_signed"), nb::arg("inverse"), "Of a C-contiguous array of int64 or uint64.")
      .def(
          "run",
          [](const Permutation& p, std::uint64_t start, std::int64_t step, std::int64_t count) {
            return indices({count}, [&](std::int64_t i) {
              const std::uint64_t position = start + static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step);
              return p(checked(position, p.size(), false, "position"));
            });
          },
          nb::arg("start"), nb::arg("step"), nb::arg("count"));
}

}  // namespace lowtide::python
