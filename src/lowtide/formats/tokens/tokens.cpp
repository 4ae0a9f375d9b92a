#include "lowtide/formats/tokens/tokens.h"

#include "lowtide/formats/tokens/litpkds.h"
#include "lowtide/formats/tokens/llmc.h"

namespace lowtide::tokens {

std::optional<Layout> sniff(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view path) {
  if (llmc::sniff(head)) return llmc::parse(head, file_bytes, path);
  if (litpkds::sniff(head)) return litpkds::parse(head, file_bytes, path);
  return std::nullopt;
}

}  // namespace lowtide::tokens
