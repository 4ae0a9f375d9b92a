#include "lowtide/row_loader.h"

#include "loader.h"
#include "lowtide/memory/host_registration.h"

namespace lowtide::python {
namespace {

constexpr std::pair<Shuffle, std::string_view> shuffles[] = {{Shuffle::none, "none"},
                                                             {Shuffle::automatic, "automatic"},
                                                             {Shuffle::global, "global"},
                                                             {Shuffle::windowed, "windowed"}};

Shuffle parse_shuffle(std::string_view text) {
  for (const auto& [shuffle, shuffle_name] : shuffles)
    if (shuffle_name == text) return shuffle;
  throw std::invalid_argument("no such shuffle: " + std::string(text));
}

std::string_view name_of(Shuffle shuffle) {
  for (const auto& [value, shuffle_name] : shuffles)
    if (value == shuffle) return shuffle_name;
  return {};
}

// Pairs of arrays: (values, None) or, of records, (values, offsets).
std::vector<RowColumn> columns_of(nb::handle pairs) {
  std::vector<RowColumn> columns;
  for (const nb::handle pair : pairs) {
    RowColumn& column = columns.emplace_back(RowColumn{nb::cast<const Array&>(pair[0])});
    if (!nb::object(pair[1]).is_none()) column.offsets = nb::cast<const Array&>(pair[1]);
  }
  return columns;
}

// For every column an array, or (values, offsets).
nb::object batch_list(RowBatch batch) {
  nb::list out;
  for (std::size_t i = 0; i < batch.columns.size(); ++i) {
    nb::object values = to_numpy(std::move(batch.columns[i]));
    if (i < batch.offsets.size() && batch.offsets[i].data() != nullptr)
      out.append(nb::make_tuple(values, to_numpy(std::move(batch.offsets[i]))));
    else
      out.append(values);
  }
  return out;
}

nb::tuple state_tuple(const RowLoaderState& state) {
  return nb::make_tuple(state.seed, state.position, state.loop_ended, state.row_count, state.run_rows,
                        state.window_rows, name_of(state.shuffle), data_tuple(state.data));
}

}  // namespace

void bind_row_loader(nb::module_& m) {
  m.def("pin_refusal", &HostRegistration::refusal, "Why memory was not pinned last; empty if it always was.");

  m.def("forbid_pinning", &HostRegistration::forbid, nb::arg("why"));

  nb::class_<RowLoader> bound(m, "RowLoader");
  bind_loader(bound, &state_tuple);
  bound
      .def(
          "__init__",
          [](RowLoader* self, nb::handle columns, nb::handle share, std::uint64_t seed, std::string_view shuffle,
             std::uint64_t window_rows, bool pin) {
            RowLoaderOptions options;
            options.share = share_of(share);
            options.seed = seed;
            options.shuffle = parse_shuffle(shuffle);
            options.window_rows = window_rows;
            options.pin = pin;
            std::vector<RowColumn> converted = columns_of(columns);
            const GilReleased nogil;
            new (self) RowLoader(std::move(converted), options);
          },
          nb::arg("columns"), nb::arg("share"), nb::arg("seed"), nb::arg("shuffle"), nb::arg("window_rows"),
          nb::arg("pin"))
      .def(
          "next",
          [](RowLoader& loader) -> nb::object {
            std::optional<RowBatch> batch;
            {
              const GilReleased nogil;
              batch = loader.next();
            }
            return batch ? batch_list(std::move(*batch)) : nb::none();
          },
          nb::sig("def next(self) -> list[typing.Any] | None"))
      .def(
          "load",
          [](RowLoader& loader, std::uint64_t seed, std::uint64_t position, bool loop_ended, std::uint64_t row_count,
             std::uint64_t run_rows, std::uint64_t window_rows, std::string_view shuffle, nb::handle data) {
            const RowLoaderState state{seed,
                                       position,
                                       loop_ended,
                                       row_count,
                                       run_rows,
                                       window_rows,
                                       parse_shuffle(shuffle),
                                       fingerprint_of(data)};
            const GilReleased nogil;
            loader.load(state);
          },
          nb::arg("seed"), nb::arg("position"), nb::arg("loop_ended"), nb::arg("row_count"), nb::arg("run_rows"),
          nb::arg("window_rows"), nb::arg("shuffle"), nb::arg("data"))
      .def("shuffle",
           [](const RowLoader& loader) {
             const ShuffleReport report = loader.shuffle();
             return nb::make_tuple(name_of(report.kind), report.reason, report.run_rows, report.window_rows,
                                   report.same_run, report.ideal_same_run);
           })
      .def_prop_ro("samples_per_epoch", &RowLoader::row_count);
}

}  // namespace lowtide::python
