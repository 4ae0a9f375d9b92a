#include "lowtide/guard/mapping.h"

#include "bindings.h"
#include "lowtide/guard/mapping_guard.h"

namespace lowtide::python {
namespace {

guard::Mapping mapping_at(std::uintptr_t address, std::uint64_t bytes, const FsText& path, std::uint64_t file_offset) {
  return {reinterpret_cast<std::byte*>(address), bytes, path.bytes, file_offset};
}

}  // namespace

void bind_mapping(nb::module_& m) {
  m.def(
      "release_mapping",
      [](std::uintptr_t address, std::uint64_t bytes, const FsText& path, std::uint64_t file_offset) {
        return guard::release_mapping(mapping_at(address, bytes, path, file_offset));
      },
      nb::arg("address"), nb::arg("bytes"), nb::arg("path"), nb::arg("file_offset"), Nogil());
  nb::class_<guard::MappingGuard>(m, "MappingGuard")
      .def(
          "__init__",
          [](guard::MappingGuard* self, std::uintptr_t address, std::uint64_t bytes, const FsText& path,
             std::uint64_t file_offset, std::uint64_t limit) {
            new (self) guard::MappingGuard(mapping_at(address, bytes, path, file_offset), limit);
          },
          nb::arg("address"), nb::arg("bytes"), nb::arg("path"), nb::arg("file_offset"), nb::arg("limit"), Nogil())
      .def("stop", &guard::MappingGuard::stop, Nogil())
      .def_prop_ro("released_bytes", &guard::MappingGuard::released_bytes);
}

}  // namespace lowtide::python
