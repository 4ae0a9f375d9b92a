// Any bytes are either refused by an error of lowtide's own, taken for none of the formats, or give a layout whose tokens end with
// the file.
//
//   clang++ -std=c++20 -fsanitize=fuzzer,address,undefined … && ./tokens_fuzz -malloc_limit_mb=1 fuzz/corpus/tokens_fuzz
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "lowtide/error.h"
#include "lowtide/formats/tokens/guess.h"
#include "lowtide/formats/tokens/tokens.h"

namespace {

using namespace lowtide;

void require(bool holds) {
  if (!holds) std::abort();
}

void check(std::span<const std::byte> head, std::uint64_t file_bytes) {
  try {
    const auto layout = tokens::sniff(head, file_bytes, "fuzz");
    if (!layout) return;
    require(layout->format == "llm.c" || layout->format == "litpkds");
    require(layout->shape.size() == 1 && layout->shape[0] >= 0);
    require(layout->data_offset <= file_bytes && layout->data_bytes() == file_bytes - layout->data_offset);
  } catch (const Error&) {
  }
}

void check_guess(std::span<const std::byte> head) {
  const DType dtype = tokens::guess(head).dtype;
  require(itemsize(dtype) >= 2 && dtype >= DType::int8 && dtype <= DType::uint64);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first eight bytes are the size of a file larger than its head; the rest is the file.
  std::uint64_t file_bytes = 0;
  if (size < sizeof file_bytes) return 0;
  std::memcpy(&file_bytes, data, sizeof file_bytes);
  const auto file = std::as_bytes(std::span(data, size)).subspan(sizeof file_bytes);
  const auto head = file.first(std::min<std::size_t>(file.size(), 4096));
  for (const std::uint64_t bytes : {std::uint64_t{file.size()}, std::max<std::uint64_t>(file_bytes, file.size())}) {
    check(head, bytes);
  }
  check_guess(head);
  return 0;
}
