// Any bytes are either refused by an error of lowtide's own or give a layout whose data lies within the file; what was
// read can be written and read again.
//
//   clang++ -std=c++20 -fsanitize=fuzzer,address,undefined … && ./npy_fuzz -malloc_limit_mb=1 fuzz/corpus/npy_fuzz
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "lowtide/error.h"
#include "lowtide/formats/npy/npy.h"

namespace {

using namespace lowtide;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_round_trip(const Layout& layout) {
  const std::string head = npy::write_header(layout);
  require(head.size() >= npy::written_header_bytes && head.size() <= 10'000);
  const auto bytes = std::as_bytes(std::span(head));
  require(npy::header_bytes(bytes.first(npy::prefix_bytes), "again") == head.size());
  // A shape near 2^63 bytes has no file that could hold it and a header.
  if (layout.data_bytes() > INT64_MAX - head.size()) return;
  const Layout again = npy::parse(bytes, head.size() + layout.data_bytes(), "again");
  require(again.dtype == layout.dtype && again.endian == layout.endian && again.order == layout.order);
  require(again.shape == layout.shape && again.data_offset == head.size());
}

void check(std::span<const std::byte> file, std::uint64_t file_bytes) {
  try {
    const std::size_t header = npy::header_bytes(file.first(std::min(file.size(), npy::prefix_bytes)), "fuzz");
    require(header <= npy::max_header_bytes);
    const Layout layout = npy::parse(file.first(std::min(file.size(), header)), file_bytes, "fuzz");
    require(layout.data_offset == header && header <= file_bytes);
    require(layout.data_bytes() <= file_bytes - header);
    require(layout.strides_bytes().size() == layout.shape.size());
    check_round_trip(layout);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  check(file, size);
  // The same head on a file so large that no shape is refused for want of data.
  check(file, INT64_MAX);
  return 0;
}
