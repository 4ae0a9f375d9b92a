#include "lowtide/io/mapping.h"

#include "bindings.h"

namespace lowtide::python {
namespace {

io::Mapping mapping_at(std::uintptr_t address, std::uint64_t bytes, const std::string& path,
                       std::uint64_t file_offset) {
  return {reinterpret_cast<std::byte*>(address), bytes, path, file_offset};
}

}  // namespace

void bind_mapping(nb::module_& m) {
  m.def(
      "release_mapping",
      [](std::uintptr_t address, std::uint64_t bytes, const std::string& path, std::uint64_t file_offset) {
        return io::release_mapping(mapping_at(address, bytes, path, file_offset));
      },
      nb::arg("address"), nb::arg("bytes"), nb::arg("path"), nb::arg("file_offset"), Nogil());
  m.def(
      "resident_bytes",
      [](std::uintptr_t address, std::uint64_t bytes, const std::string& path, std::uint64_t file_offset) {
        return io::resident_bytes(mapping_at(address, bytes, path, file_offset));
      },
      nb::arg("address"), nb::arg("bytes"), nb::arg("path"), nb::arg("file_offset"), Nogil());
  nb::class_<io::MappingGuard>(m, "MappingGuard")
      .def(
          "__init__",
          [](io::MappingGuard* self, std::uintptr_t address, std::uint64_t bytes, const std::string& path,
             std::uint64_t file_offset, std::uint64_t limit) {
            new (self) io::MappingGuard(mapping_at(address, bytes, path, file_offset), limit);
          },
          nb::arg("address"), nb::arg("bytes"), nb::arg("path"), nb::arg("file_offset"), nb::arg("limit"))
      .def("stop", &io::MappingGuard::stop, Nogil())
      .def_prop_ro("released_bytes", &io::MappingGuard::released_bytes);
}

}  // namespace lowtide::python
