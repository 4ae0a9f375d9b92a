// What the bindings of loaders share.
#pragma once

#include "bindings.h"

namespace lowtide::python {

// (batch, rank, world, worker, worker_count, epochs, drop_last)
LoaderShare share_of(nb::handle tuple);
nb::dict to_dict(const LoaderStats& stats);
nb::tuple data_tuple(const DataFingerprint& data);
DataFingerprint fingerprint_of(nb::handle tuple);

}  // namespace lowtide::python
