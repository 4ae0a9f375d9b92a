#include "bindings.h"

NB_MODULE(_core, m) {
  m.doc() = "The C++ core of lowtide. Use the lowtide package; this module has no promises of its own.";
  // The library never prints; what lives at exit belongs to threads and iterators that were left running.
  nb::set_leak_warnings(false);
  using namespace lowtide::python;
  import_numpy();
  bind_errors(m);
  bind_budget(m);
  bind_array(m);
  bind_compute(m);
  bind_writer(m);
  bind_exporter(m);
  bind_mapping(m);
  bind_info(m);
  bind_doctor(m);
  bind_permutation(m);
  bind_row_loader(m);
  bind_token_loader(m);
}
