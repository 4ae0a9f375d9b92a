#include "lowtide/memory/budget.h"
#include "bindings.h"

namespace lowtide::python {

void bind_budget(nb::module_& m) {
  nb::class_<Lease>(m, "Lease", "Budget bytes held for something Python keeps in memory.")
      .def("release", &Lease::release)
      .def_prop_ro("nbytes", &Lease::bytes);
  m.def("set_budget", [](std::uint64_t bytes) { return set_budget(bytes); }, nb::arg("bytes"));
  m.def("set_budget_wait", &set_budget_wait, nb::arg("seconds"));
  m.def("budget_wait", &budget_wait);
  m.def("parse_bytes", &parse_bytes, nb::arg("text"));
  m.def("format_bytes", &format_bytes, nb::arg("count"));
  m.def("budget", &budget);
  m.def("budget_source", &budget_source);
  m.def("reset_peak", &reset_peak);
  m.def("usage", [] {
    const Usage u = usage();
    return nb::make_tuple(u.limit_bytes, u.held_bytes, u.peak_bytes, u.by_purpose);
  });
  m.def(
      "lease_index",
      [](std::uint64_t bytes, const std::string& what) { return Budget::process().take(bytes, Purpose::index, what); },
      nb::arg("bytes"), nb::arg("what") = "an index", Nogil());
}

}  // namespace lowtide::python
