#include "loader.h"

namespace lowtide::python {

LoaderShare share_of(nb::handle tuple) {
  LoaderShare share;
  share.batch = nb::cast<std::int64_t>(tuple[0]);
  share.rank = nb::cast<std::int64_t>(tuple[1]);
  share.world = nb::cast<std::int64_t>(tuple[2]);
  share.worker = nb::cast<std::int64_t>(tuple[3]);
  share.worker_count = nb::cast<std::int64_t>(tuple[4]);
  share.epochs = nb::cast<std::optional<std::int64_t>>(tuple[5]);
  share.drop_last = nb::cast<bool>(tuple[6]);
  return share;
}

nb::dict to_dict(const LoaderStats& stats) {
  nb::dict out;
  out["batches"] = stats.batch_count;
  out["samples"] = stats.sample_count;
  out["seconds"] = stats.elapsed_s;
  out["waited_on_disk"] = stats.waited_on_disk_s;
  out["waited_on_consumer"] = stats.waited_on_consumer_s;
  out["held"] = stats.held_bytes;
  out["peak"] = stats.peak_bytes;
  out["pinned"] = stats.pinned_bytes;
  return out;
}

nb::tuple data_tuple(const DataFingerprint& data) { return nb::make_tuple(data.file_count, data.bytes, data.marks); }

DataFingerprint fingerprint_of(nb::handle tuple) {
  return {nb::cast<std::uint64_t>(tuple[0]), nb::cast<std::uint64_t>(tuple[1]), nb::cast<std::string>(tuple[2])};
}

}  // namespace lowtide::python
