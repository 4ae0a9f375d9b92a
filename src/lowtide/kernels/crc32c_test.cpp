#include "lowtide/kernels/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lowtide {
namespace {

const std::byte* bytes_of(const std::string& text) { return reinterpret_cast<const std::byte*>(text.data()); }

// RFC 3720, appendix B.4, and the check value of the CRC catalogue.
TEST(Crc32c, GivesThePublishedValues) {
  std::string ascending(32, '\0');
  for (int i = 0; i < 32; ++i) ascending[static_cast<std::size_t>(i)] = static_cast<char>(i);
  const std::vector<std::pair<std::string, std::uint32_t>> published = {
      {"", 0},
      {"123456789", 0xE3069283},
      {std::string(32, '\0'), 0x8A9136AA},
      {std::string(32, '\xff'), 0x62A8AB43},
      {ascending, 0x46DD794E},
  };
  for (const auto& [text, expected] : published) {
    EXPECT_EQ(crc32c(bytes_of(text), text.size()), expected);
    EXPECT_EQ(crc32c_portable(bytes_of(text), text.size()), expected);
  }
}

TEST(Crc32c, OfPiecesIsThatOfTheWhole) {
  const std::string text = "bytes that come in pieces of any length";
  const std::uint32_t whole = crc32c(bytes_of(text), text.size());
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(crc32c(bytes_of(text) + cut, text.size() - cut, crc32c(bytes_of(text), cut)), whole) << cut;
  }
}

}  // namespace
}  // namespace lowtide
