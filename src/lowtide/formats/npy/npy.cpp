#include "lowtide/formats/npy/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "lowtide/base/quote.h"
#include "lowtide/error.h"
#include "lowtide/formats/npy/dict_reader.h"

namespace lowtide::npy {
namespace {

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr std::size_t version_1_prefix_bytes = 10;
constexpr std::size_t alignment_bytes = 64;
constexpr std::size_t numpy_max_header_bytes = 10'000;  // np.load refuses longer ones
constexpr std::size_t growth_digits = 21;               // NumPy's choice

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Prefix {
  unsigned major;
  std::size_t bytes;         // magic, version and length field
  std::uint64_t dict_bytes;  // what the length field says
};

Prefix read_prefix(std::span<const std::byte> first, std::string_view path) {
  if (!sniff(first)) {
    const bool zip = as_text(first).starts_with("PK");
    throw FormatError(fmt::format("{}: not a .npy file: it does not begin with \\x93NUMPY. {}", path,
                                  zip ? "It looks like a zip archive: if it is an .npz, extract its arrays first."
                                      : "If it has no header, open it as raw and give its dtype."));
  }
  const auto byte_at = [&](std::size_t i) { return std::to_integer<std::uint64_t>(first[i]); };
  const auto fail_short = [&](std::size_t needed) {
    throw FormatError(fmt::format("{}: a .npy header needs {} bytes, the file has {}", path, needed, first.size()));
  };
  if (first.size() < 8) fail_short(version_1_prefix_bytes);
  const auto major = static_cast<unsigned>(byte_at(6));
  const auto minor = static_cast<unsigned>(byte_at(7));
  if (major < 1 || major > 3 || minor != 0) {
    throw FormatError(fmt::format("{}: .npy version {}.{}; known are 1.0, 2.0 and 3.0", path, major, minor));
  }
  Prefix prefix{major, major == 1 ? version_1_prefix_bytes : prefix_bytes, 0};
  if (first.size() < prefix.bytes) fail_short(prefix.bytes);
  for (std::size_t i = prefix.bytes; i-- > 8;) prefix.dict_bytes = prefix.dict_bytes << 8 | byte_at(i);
  return prefix;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || i + length > text.size()) return false;
    std::uint32_t code = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3Fu);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (overlong || surrogate || code > 0x10FFFF) return false;
    i += length;
  }
  return true;
}

struct Element {
  DType dtype;
  Endian endian;
};

// What a refused dtype is, and what to do about it.
std::string advice(std::string_view code, std::size_t data_offset) {
  switch (code.empty() ? '\0' : code.front()) {
    case 'O':
      return "It holds pickled Python objects, which are never loaded. Save numbers instead.";
    case 'S':
    case 'U':
    case 'a':
      return "It holds text. Encode it as numbers first, for example with np.unique(x, return_inverse=True).";
    case 'M':
    case 'm':
      return "It holds dates or durations. Save x.view(\"int64\") instead.";
    case 'V':
      break;
    default:
      return "";
  }
  if (code != "V2") return "It holds opaque bytes. Save x.view(\"uint8\") instead.";
  return fmt::format(
      "It holds opaque 2-byte items; np.save writes bfloat16 so. If that is what it is, open it as raw with dtype "
      "bfloat16 "
      "and offset {}.",
      data_offset);
}

// The dtype without its byte order; nothing where it is not one that np.save writes and lowtide holds.
std::optional<DType> dtype_of_descr(std::string_view descr) {
  try {
    const DType dtype = parse_dtype(descr.starts_with('>') ? fmt::format("<{}", descr.substr(1)) : descr);
    if (dtype != DType::bfloat16) return dtype;
  } catch (const UnsupportedError&) {
  }
  return std::nullopt;
}

Element parse_descr(std::string_view descr, std::size_t data_offset, std::string_view path) {
  if (const auto dtype = dtype_of_descr(descr)) {
    const bool big = descr.starts_with('>') && itemsize(*dtype) > 1;
    return {*dtype, big ? Endian::big : Endian::little};
  }
  const bool says_order = !descr.empty() && std::string_view("<>=|").find(descr.front()) != std::string_view::npos;
  const std::string hint = advice(descr.substr(says_order ? 1 : 0), data_offset);
  throw UnsupportedError(
      fmt::format("{}: dtype {} is not supported. {}{}Supported: bool, integers of 1 to 8 bytes, float16, float32, "
                  "float64, complex64, "
                  "complex128, in either byte order.",
                  path, in_quotes(descr), hint, hint.empty() ? "" : " "));
}

char order_character(const Layout& layout) {
  if (itemsize(layout.dtype) == 1) return '|';
  return layout.endian == Endian::big ? '>' : '<';
}

std::string dict_text(const Layout& layout) {
  const char kind = name(layout.dtype).front();  // bool, int, uint, float, complex: NumPy's kind is the initial
  return fmt::format("{{'descr': '{}{}{}', 'fortran_order': {}, 'shape': ({}{}), }}", order_character(layout), kind,
                     itemsize(layout.dtype), layout.order == Order::fortran ? "True" : "False",
                     fmt::join(layout.shape, ", "), layout.shape.size() == 1 ? "," : "");
}

// How much longer the dict gets if the slowest extent grows to the most digits. The room for it is there from the
// start, so that an append rewrites the header in place: the header's size does not depend on that extent.
std::size_t growth_bytes(const Layout& layout) {
  if (layout.shape.empty()) return 0;
  const std::int64_t extent = layout.order == Order::fortran ? layout.shape.back() : layout.shape.front();
  return growth_digits - fmt::formatted_size("{}", extent);
}

}  // namespace

bool sniff(std::span<const std::byte> first) { return as_text(first).starts_with(magic); }

std::size_t header_bytes(std::span<const std::byte> first, std::string_view path) {
  const Prefix prefix = read_prefix(first, path);
  const std::uint64_t total = prefix.bytes + prefix.dict_bytes;
  if (total > max_header_bytes) {
    throw FormatError(fmt::format("{}: the .npy header says it is {} bytes long; at most {} are read", path, total,
                                  max_header_bytes));
  }
  return static_cast<std::size_t>(total);
}

Layout parse(std::span<const std::byte> head, std::uint64_t file_bytes, std::string_view path) {
  const std::size_t total = header_bytes(head, path);
  if (head.size() < total || file_bytes < total) {
    throw FormatError(fmt::format("{}: the .npy header is {} bytes long, the file has {}", path, total,
                                  std::min<std::uint64_t>(head.size(), file_bytes)));
  }
  const Prefix prefix = read_prefix(head, path);
  const std::string_view text = as_text(head).substr(prefix.bytes, total - prefix.bytes);
  if (prefix.major == 3 && !is_utf8(text)) {
    throw FormatError(fmt::format("{}: the .npy header is version 3.0 but not valid UTF-8", path));
  }
  Dict dict = read_dict(text, {.path = path, .allow_longs = prefix.major < 3});
  const Element element = parse_descr(dict.descr, total, path);
  const std::uint64_t data_bytes = checked_bytes(dict.shape, element.dtype, path);
  if (data_bytes > file_bytes - total) {
    throw FormatError(
        fmt::format("{}: the header promises shape ({}) of {}: {} bytes after a header of {}; the file has {}, {} too "
                    "few. It was cut "
                    "short or is still being written.",
                    path, fmt::join(dict.shape, ", "), name(element.dtype), data_bytes, total, file_bytes,
                    data_bytes - (file_bytes - total)));
  }
  return Layout{.format = "npy",
                .dtype = element.dtype,
                .endian = element.endian,
                .order = dict.fortran_order ? Order::fortran : Order::c,
                .shape = std::move(dict.shape),
                .data_offset = total};
}

std::string write_header(const Layout& layout, std::size_t pad_to) {
  if (layout.dtype == DType::bfloat16) {
    throw UnsupportedError("a .npy file cannot say bfloat16: cast to float32 or float16, or write a raw file");
  }
  if (pad_to > numpy_max_header_bytes) {
    throw std::invalid_argument(
        fmt::format("a .npy header of {} bytes: np.load reads at most {}", pad_to, numpy_max_header_bytes));
  }
  checked_bytes(layout.shape, layout.dtype, ".npy header");
  const std::string dict = dict_text(layout);
  const std::size_t needed = version_1_prefix_bytes + dict.size() + growth_bytes(layout) + 1;
  const std::size_t total =
      needed <= pad_to ? pad_to : (needed + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
  const std::size_t length = total - version_1_prefix_bytes;
  std::string header(total, ' ');
  header.replace(0, magic.size(), magic);
  header[6] = 1;
  header[7] = 0;
  header[8] = static_cast<char>(length & 0xFF);
  header[9] = static_cast<char>(length >> 8);
  header.replace(version_1_prefix_bytes, dict.size(), dict);
  header.back() = '\n';
  return header;
}

}  // namespace lowtide::npy
