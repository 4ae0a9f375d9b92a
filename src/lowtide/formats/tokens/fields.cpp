#include "lowtide/formats/tokens/fields.h"

#include <fmt/format.h>

#include <optional>

#include "lowtide/base/checked.h"
#include "lowtide/error.h"

namespace lowtide::tokens {
namespace {

std::optional<std::uint64_t> promised_bytes(const Promise& promise) {
  const auto data_bytes = checked_multiply<std::uint64_t>(promise.token_count, itemsize(promise.dtype));
  const auto total = data_bytes ? checked_add(promise.header_bytes, *data_bytes) : std::nullopt;
  return total && *total <= INT64_MAX ? total : std::nullopt;
}

}  // namespace

bool starts_with(std::span<const std::byte> head, std::string_view magic) {
  return head.size() >= magic.size() && std::memcmp(head.data(), magic.data(), magic.size()) == 0;
}

DType dtype_of_code(std::uint8_t code, std::string_view path) {
  switch (code) {
    case 1:
      return DType::uint8;
    case 2:
      return DType::int8;
    case 3:
      return DType::int16;
    case 4:
      return DType::int32;
    case 5:
      return DType::int64;
    case 8:
      return DType::uint16;
    case 6:
    case 7:
    case 9:
      throw UnsupportedError(
          fmt::format("{}: dtype code {} is a float, another one in each fork of the writer, and tokens are integers: "
                      "codes 1 to 5 and 8 (uint8, int8, int16, int32, int64, uint16)",
                      path, code));
    default:
      throw FormatError(fmt::format(
          "{}: dtype code {}; known are 1 to 5 and 8 (uint8, int8, int16, int32, int64, uint16)", path, code));
  }
}

void check_size(const Promise& promise, std::uint64_t file_bytes, std::string_view path) {
  const auto total_bytes = promised_bytes(promise);
  if (!total_bytes) {
    throw FormatError(fmt::format("{}: the header promises {} tokens of {}, which is more than 2^63 - 1 bytes", path,
                                  promise.token_count, name(promise.dtype)));
  }
  if (*total_bytes == file_bytes) return;
  const std::string numbers =
      fmt::format("{}: the header promises {} tokens of {}, so {} has {} bytes; the file has {}", path,
                  promise.token_count, name(promise.dtype), promise.what, *total_bytes, file_bytes);
  if (file_bytes < *total_bytes) {
    throw FormatError(
        fmt::format("{}, {} too few. It was cut short or is still being written.", numbers, *total_bytes - file_bytes));
  }
  throw FormatError(fmt::format("{}, {} too many. The count or the tokens are not as they were written.", numbers,
                                file_bytes - *total_bytes));
}

}  // namespace lowtide::tokens
