#include "lowtide/kernels/crc32c.h"

#include <array>
#include <cstring>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace lowtide {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78;  // bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? polynomial : 0);
    table[i] = sum;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> table = make_table();

}  // namespace

std::uint32_t crc32c_portable(const std::byte* data, std::size_t bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  for (std::size_t i = 0; i < bytes; ++i)
    sum = (sum >> 8) ^ table[(sum ^ std::to_integer<std::uint32_t>(data[i])) & 255];
  return ~sum;
}

#ifdef __SSE4_2__

std::uint32_t crc32c(const std::byte* data, std::size_t bytes, std::uint32_t before) {
  std::uint64_t sum = ~before;
  std::size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, data + i, sizeof word);
    sum = _mm_crc32_u64(sum, word);
  }
  auto tail = static_cast<std::uint32_t>(sum);
  for (; i < bytes; ++i) tail = _mm_crc32_u8(tail, std::to_integer<unsigned char>(data[i]));
  return ~tail;
}

#else

std::uint32_t crc32c(const std::byte* data, std::size_t bytes, std::uint32_t before) {
  return crc32c_portable(data, bytes, before);
}

#endif

}  // namespace lowtide
