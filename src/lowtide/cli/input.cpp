#include "lowtide/cli/input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "lowtide/cli/failure.h"
#include "lowtide/formats/registry.h"
#include "lowtide/io/file.h"

namespace lowtide::cli {
namespace {

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_big_endian(const std::string& dtype) { return dtype.starts_with('>'); }

OpenOptions open_options(const RawOptions& raw) {
  OpenOptions options;
  if (!raw.given()) return options;
  if (raw.dtype.empty())
    throw UsageError("the shape, offset or order of a file without a header means nothing without its dtype",
                     fmt::format("add {} uint16, or what it holds", raw.dtype_flag));
  options.dtype = parse_dtype_option(raw.dtype);
  options.endian = is_big_endian(raw.dtype) ? Endian::big : native_endian;
  options.shape = raw.shape.empty() ? Shape{-1} : parse_shape(raw.shape);
  if (!raw.order.empty()) options.order = parse_order(raw.order);
  if (!raw.offset.empty()) {
    const auto bytes = whole_number<std::uint64_t>(raw.offset);
    if (!bytes) throw UsageError(fmt::format("--offset {}: not a whole number of bytes", raw.offset));
    options.offset = *bytes;
  }
  return options;
}

}  // namespace

std::shared_ptr<RawOptions> add_raw_options(CLI::App* verb, const RawFlags& flags) {
  auto raw = std::make_shared<RawOptions>();
  raw->dtype_flag = flags.dtype;
  const char* group = "File without a header";
  verb->add_option(flags.dtype, raw->dtype, "Its dtype: uint16, f4, >f8 (big-endian)")
      ->type_name("DTYPE")
      ->group(group);
  verb->add_option("--shape", raw->shape, "Its shape: 1000,-1 (-1: what the size says)")
      ->type_name("SHAPE")
      ->group(group);
  verb->add_option("--offset", raw->offset, "Bytes to skip at its start")->type_name("BYTES")->group(group);
  verb->add_option(flags.order, raw->order, "Its order of elements: C or F")->type_name("C|F")->group(group);
  return raw;
}

Shape parse_shape(const std::string& text) {
  std::string_view rest = text;
  if (rest.size() >= 2 && rest.front() == '(' && rest.back() == ')') rest = rest.substr(1, rest.size() - 2);
  Shape shape;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(",x"), rest.size());
    std::string_view extent = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (extent.starts_with(' ')) extent.remove_prefix(1);
    while (extent.ends_with(' ')) extent.remove_suffix(1);
    const auto value = whole_number<std::int64_t>(extent);
    if (!value || *value < -1)
      throw UsageError(fmt::format("--shape {}: not a shape", text),
                       "type for example --shape 1000,200 or --shape -1,200");
    shape.push_back(*value);
  }
  return shape;
}

Order parse_order(const std::string& text) {
  if (text == "C" || text == "c") return Order::c;
  if (text == "F" || text == "f") return Order::fortran;
  throw UsageError(fmt::format("order {}: use C or F", text));
}

DType parse_dtype_option(const std::string& text) {
  try {
    return parse_dtype(is_big_endian(text) ? std::string_view(text).substr(1) : std::string_view(text));
  } catch (const UnsupportedError& e) {
    throw UsageError(e.what());
  }
}

FirstLook look_at(const std::string& path) {
  const auto file = io::File::open(path, io::Access::read);
  const std::vector<std::byte> head = file->take_head();
  FirstLook look;
  look.file_bytes = file->size_bytes();
  const Format* format = sniff_format(head);
  if (format == nullptr) return look;
  look.format = format->name;
  look.opens = format->parse != nullptr;
  if (look.format == "npy" && head.size() >= 8)
    look.version = fmt::format("{}.{}", std::to_integer<int>(head[6]), std::to_integer<int>(head[7]));
  // Where the head is all of the header, it is judged here.
  if (look.opens && format->header_bytes == nullptr) format->parse(head, look.file_bytes, path);
  return look;
}

Array open_input(const std::string& path, const RawOptions& raw) {
  const OpenOptions options = open_options(raw);
  if (!raw.given()) {
    const FirstLook look = look_at(path);
    if (look.format == "megatron")
      throw HintedFormatError(fmt::format("{}: Megatron's index, no array: the tokens are in the .bin beside it", path),
                              fmt::format("lowtide info {}", shell_quoted(path)));
    if (look.format.empty()) {
      throw HintedFormatError(
          fmt::format("{}: {}", path,
                      look.file_bytes == 0 ? "the file is empty"
                                           : "no header that lowtide knows, so nothing says what its bytes are"),
          fmt::format("if they are bare numbers, say which: {} uint16", raw.dtype_flag));
    }
  }
  return open(path, options);
}

std::vector<std::string> dividing_dtypes(std::uint64_t file_bytes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (file_bytes % itemsize(dtype) == 0) names.emplace_back(lowtide::name(dtype));
  }
  return names;
}

std::string tuple(const Shape& shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string name(Order order) { return order == Order::c ? "C" : "F"; }
std::string name(Endian endian) { return endian == Endian::little ? "little" : "big"; }

std::string shell_quoted(const std::string& path) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+=:@%,";
  if (!path.empty() && path.find_first_not_of(plain) == std::string::npos) return path;
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace lowtide::cli
