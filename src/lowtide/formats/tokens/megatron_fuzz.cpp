// Any bytes are either refused by an error of lowtide's own or give an index whose arrays lie within the file, one after the other.
//
//   clang++ -std=c++20 -fsanitize=fuzzer,address,undefined … && ./megatron_fuzz -malloc_limit_mb=1 fuzz/corpus/megatron_fuzz
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "lowtide/error.h"
#include "lowtide/formats/tokens/megatron.h"

namespace {

using namespace lowtide;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::span<const std::byte> head, std::uint64_t idx_bytes, std::uint64_t bin_bytes) {
  try {
    const megatron::Index index = megatron::parse(head, idx_bytes, bin_bytes, "fuzz");
    require(megatron::sniff(head));
    require(bin_bytes % itemsize(index.dtype) == 0);
    const std::uint64_t n = index.sequence_count;
    require(n <= idx_bytes / 12 && index.document_count < idx_bytes / 8);
    require(index.lengths_offset == megatron::header_bytes);
    require(index.pointers_offset - index.lengths_offset == 4 * n);
    require(index.documents_offset - index.pointers_offset == 8 * n);
    const std::uint64_t modes = index.multimodal ? n : 0;
    require(index.documents_offset + 8 * (index.document_count + 1) + modes == idx_bytes);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first sixteen bytes are the sizes of an index larger than its head and of the tokens; the rest is the index.
  std::uint64_t sizes[2];
  if (size < sizeof sizes) return 0;
  std::memcpy(sizes, data, sizeof sizes);
  const auto file = std::as_bytes(std::span(data, size)).subspan(sizeof sizes);
  const auto head = file.first(std::min<std::size_t>(file.size(), 4096));
  check(head, file.size(), sizes[1]);
  check(head, std::max<std::uint64_t>(sizes[0], file.size()), sizes[1]);
  return 0;
}
