#include "lowtide/token_loader.h"

#include <nanobind/stl/pair.h>

#include "loader.h"

namespace lowtide::python {
namespace {

DocumentMode document_mode(std::string_view text) {
  if (text == "none") return DocumentMode::none;
  return text == "eot" ? DocumentMode::eot : DocumentMode::index;
}

nb::object batch_tuple(TokenBatch batch) {
  if (batch.positions.data() == nullptr)
    return nb::make_tuple(to_numpy(std::move(batch.x)), to_numpy(std::move(batch.y)));
  return nb::make_tuple(to_numpy(std::move(batch.x)), to_numpy(std::move(batch.y)),
                        to_numpy(std::move(batch.positions)), to_numpy(std::move(batch.cu_seqlens)),
                        to_numpy(std::move(batch.mask)), batch.longest_segment);
}

nb::tuple state_tuple(const TokenLoaderState& state) {
  return nb::make_tuple(state.seed, state.position, state.loop_ended, state.sampled, state.samples_per_epoch,
                        state.options, data_tuple(state.data));
}

// (row, path, offset, tokens, token, document or None)
nb::tuple origin_tuple(const TokenOrigin& origin) {
  return nb::make_tuple(origin.row, origin.path, origin.offset, origin.count, origin.token, origin.document);
}

}  // namespace

void bind_token_loader(nb::module_& m) {
  nb::class_<TokenLoader> bound(m, "TokenLoader");
  bind_loader(bound, &state_tuple);
  bound
      .def(
          "__init__",
          [](TokenLoader* self, std::vector<std::string> paths, std::int64_t block, nb::handle share,
             std::uint64_t seed, bool shuffle, std::string_view dtype, const std::optional<std::string>& token_dtype,
             bool token_big_endian, std::optional<std::uint64_t> vocabulary, std::int64_t overlap,
             std::string_view documents, std::uint64_t eot, bool pack, std::int64_t pad,
             std::optional<std::int64_t> ignore_index, bool moving, const std::optional<std::pair<bool, double>>& split,
             std::vector<std::pair<std::uint64_t, std::uint64_t>> skip, bool pin) {
            TokenLoaderOptions options;
            options.paths = std::move(paths);
            options.block = block;
            options.share = share_of(share);
            options.seed = seed;
            options.shuffle = shuffle;
            options.dtype = parse_dtype(dtype);
            if (token_dtype) options.token_dtype = parse_dtype(*token_dtype);
            options.token_endian = token_big_endian ? Endian::big : Endian::little;
            options.vocabulary = vocabulary;
            options.overlap = overlap;
            options.documents = document_mode(documents);
            options.eot = eot;
            options.pack = pack;
            options.pad = pad;
            options.ignore_index = ignore_index;
            options.moving = moving;
            if (split) options.split = {split->first ? TokenSplit::Part::train : TokenSplit::Part::val, split->second};
            options.skip = std::move(skip);
            options.pin = pin;
            const GilReleased nogil;
            new (self) TokenLoader(options);
          },
          nb::arg("paths"), nb::arg("block"), nb::arg("share"), nb::arg("seed"), nb::arg("shuffle"), nb::arg("dtype"),
          nb::arg("token_dtype").none(), nb::arg("token_big_endian"), nb::arg("vocabulary").none(), nb::arg("overlap"),
          nb::arg("documents"), nb::arg("eot"), nb::arg("pack"), nb::arg("pad"), nb::arg("ignore_index").none(),
          nb::arg("moving"), nb::arg("split").none(), nb::arg("skip"), nb::arg("pin"))
      .def(
          "next",
          [](TokenLoader& loader) -> nb::object {
            std::optional<TokenBatch> batch;
            {
              const GilReleased nogil;
              batch = loader.next();
            }
            return batch ? batch_tuple(std::move(*batch)) : nb::none();
          },
          nb::sig("def next(self) -> tuple[typing.Any, ...] | None"))
      .def(
          "sample",
          [](TokenLoader& loader) {
            TokenBatch batch;
            {
              const GilReleased nogil;
              batch = loader.sample();
            }
            return batch_tuple(std::move(batch));
          },
          nb::sig("def sample(self) -> tuple[typing.Any, ...]"))
      .def(
          "load",
          [](TokenLoader& loader, std::uint64_t seed, std::uint64_t position, bool loop_ended, std::uint64_t sampled,
             std::uint64_t samples_per_epoch, std::string options, nb::handle data) {
            const TokenLoaderState state{
                seed, position, loop_ended, sampled, samples_per_epoch, std::move(options), fingerprint_of(data)};
            const GilReleased nogil;
            loader.load(state);
          },
          nb::arg("seed"), nb::arg("position"), nb::arg("loop_ended"), nb::arg("sampled"), nb::arg("samples_per_epoch"),
          nb::arg("options"), nb::arg("data"))
      .def(
          "where",
          [](const TokenLoader& loader, std::uint64_t step) {
            std::vector<TokenOrigin> origins;
            {
              const GilReleased nogil;
              origins = loader.where(step);
            }
            nb::list out;
            for (const TokenOrigin& origin : origins) out.append(origin_tuple(origin));
            return out;
          },
          nb::arg("step"))
      .def("packing",
           [](const TokenLoader& loader) -> nb::object {
             const auto report = loader.packing();
             if (!report) return nb::none();
             return nb::make_tuple(report->document_count, report->cut_count, report->window_count, report->waste);
           })
      .def_prop_ro("tokens", &TokenLoader::tokens)
      .def_prop_ro("token_dtype", [](const TokenLoader& loader) { return name(loader.token_dtype()); })
      .def_prop_ro("name", &TokenLoader::name)
      .def_prop_ro("files", &TokenLoader::files)
      .def_prop_ro("samples_per_epoch", &TokenLoader::samples_per_epoch);
}

}  // namespace lowtide::python
