#include "bindings.h"
#include "lowtide/doctor/probe/watcher.h"
#include "lowtide/doctor/report/report.h"

namespace lowtide::python {

void bind_doctor(nb::module_& m) {
  using doctor::Watcher;
  nb::class_<Watcher>(m, "DoctorWatch", "Looks at a process and all that it starts; see lowtide.doctor.")
      .def(
          "__init__",
          [](Watcher* self, int pid, std::string agent_folder) {
            new (self) Watcher({.pid = pid, .command = "this process", .agent_folder = std::move(agent_folder)});
          },
          nb::arg("pid"), nb::arg("agent_folder"), Nogil())
      .def("look", &Watcher::look, Nogil())
      .def("step", &Watcher::step)
      .def("interval_s", &Watcher::interval_s)
      .def("judge", [](Watcher& self) {
        self.end(-1);
        const doctor::Verdict verdict = doctor::judge(self.timeline());
        const std::string json =
            doctor::json_report(verdict, self.timeline()).dump(-1, ' ', false, doctor::Json::error_handler_t::replace);
        return nb::make_tuple(json, doctor::text_report(verdict, {}), doctor::html_report(verdict, self.timeline()));
      });
}

}  // namespace lowtide::python
