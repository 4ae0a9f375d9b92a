#include "bindings.h"
#include "lowtide/base/fault.h"
#include "lowtide/io/file.h"

namespace lowtide::python {

void bind_info(nb::module_& m) {
  m.attr("version") = LOWTIDE_VERSION;
  m.def("open_files", [] {
    nb::list files;
    for (const auto& file : io::File::all_open())
      files.append(nb::make_tuple(FsText{file->path()}, name(file->mode()), file->mode_reason()));
    return files;
  });
  m.def("uring_refusal", &io::uring_refusal);

  // For tests of what depends on lowtide and of lowtide itself: make the nth operation of a kind fail.
  nb::enum_<fault::Stage>(m, "FaultStage")
      .value("submit", fault::Stage::submit)
      .value("complete", fault::Stage::complete)
      .value("call", fault::Stage::call)
      .value("allocate", fault::Stage::allocate);
  m.def(
      "set_fault",
      [](fault::Stage stage, std::int64_t nth, int error, bool persistent) {
        fault::set({stage, nth, error, persistent});
      },
      nb::arg("stage"), nb::arg("nth"), nb::arg("error"), nb::arg("persistent"));
  m.def("clear_fault", &fault::clear);
  m.def("faults_seen", &fault::seen, nb::arg("stage"));
}

}  // namespace lowtide::python
