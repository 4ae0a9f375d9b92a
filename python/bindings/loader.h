// What the bindings of loaders share.
#pragma once

#include "bindings.h"

namespace lowtide::python {

// (batch, rank, world, worker, worker_count, epochs, drop_last)
LoaderShare share_of(nb::handle tuple);
nb::dict to_dict(const LoaderStats& stats);
nb::tuple data_tuple(const DataFingerprint& data);
DataFingerprint fingerprint_of(nb::handle tuple);

// What every loader's class has: where it stands, its share, its statistics.
template <class Loader, class State>
void bind_loader(nb::class_<Loader>& bound, nb::tuple (*to_tuple)(const State&)) {
  bound
      .def(
          "state",
          [to_tuple](const Loader& loader, std::uint64_t ahead) {
            State state;
            {
              const GilReleased nogil;
              state = loader.state(ahead);
            }
            return to_tuple(state);
          },
          nb::arg("ahead"))
      .def(
          "set_share",
          [](Loader& loader, nb::handle share) {
            const LoaderShare converted = share_of(share);
            const GilReleased nogil;
            loader.set_share(converted);
          },
          nb::arg("share"))
      .def("begin_loop", &Loader::begin_loop, Nogil())
      .def("batches_left", &Loader::batches_left, Nogil())
      .def("batches_a_loop", &Loader::batches_a_loop, Nogil())
      .def("place",
           [](const Loader& loader) {
             StreamPlace place;
             {
               const GilReleased nogil;
               place = loader.place();
             }
             return nb::make_tuple(place.position, place.loop_ended);
           })
      .def(
          "seek",
          [](Loader& loader, std::uint64_t position, bool loop_ended) {
            const GilReleased nogil;
            loader.seek({position, loop_ended});
          },
          nb::arg("position"), nb::arg("loop_ended"))
      .def("stop", &Loader::stop, Nogil())
      .def("stats",
           [](const Loader& loader) {
             LoaderStats stats;
             {
               const GilReleased nogil;
               stats = loader.stats();
             }
             return to_dict(stats);
           })
      .def_prop_ro("seed", [](const Loader& loader) { return loader.options().seed; });
}

}  // namespace lowtide::python
