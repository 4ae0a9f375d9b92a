#include "lowtide/dtype.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "lowtide/base/quote.h"
#include "lowtide/error.h"

namespace lowtide {
namespace {

struct Entry {
  std::string_view name;
  std::string_view code;  // NumPy's kind and size; empty where NumPy has none
  std::size_t itemsize;
};

// In the order of DType.
constexpr std::array<Entry, dtype_count> entries = {{
    {"bool", "b1", 1},
    {"int8", "i1", 1},
    {"int16", "i2", 2},
    {"int32", "i4", 4},
    {"int64", "i8", 8},
    {"uint8", "u1", 1},
    {"uint16", "u2", 2},
    {"uint32", "u4", 4},
    {"uint64", "u8", 8},
    {"float16", "f2", 2},
    {"bfloat16", "", 2},
    {"float32", "f4", 4},
    {"float64", "f8", 8},
    {"complex64", "c8", 8},
    {"complex128", "c16", 16},
}};
static_assert(entries[static_cast<std::size_t>(DType::bfloat16)].name == "bfloat16");
static_assert(entries[static_cast<std::size_t>(DType::complex128)].name == "complex128");

std::string supported_names() {
  std::string names;
  for (const Entry& entry : entries) {
    if (!names.empty()) names += ", ";
    names += entry.name;
  }
  return names;
}

}  // namespace

std::size_t itemsize(DType dtype) { return entries.at(static_cast<std::size_t>(dtype)).itemsize; }

std::size_t alignment(DType dtype) { return dtype >= DType::complex64 ? itemsize(dtype) / 2 : itemsize(dtype); }

std::string_view name(DType dtype) { return entries.at(static_cast<std::size_t>(dtype)).name; }

DType parse_dtype(std::string_view text) {
  std::string_view code = text;
  const bool says_order = !text.empty() && (text.front() == '<' || text.front() == '=' || text.front() == '|');
  if (says_order) code.remove_prefix(1);
  if (code == "?") return DType::bool_;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool by_code = !code.empty() && code == entries[i].code;
    if (by_code || text == entries[i].name) return static_cast<DType>(i);
  }
  const bool big_endian = text.starts_with('>');
  throw UnsupportedError(fmt::format("dtype {} is not supported{}. Supported: {}.", in_quotes(text),
                                     big_endian ? ": a dtype has no byte order here; give the order apart" : "",
                                     supported_names()));
}

}  // namespace lowtide
