#include "lowtide/loader/token_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <system_error>

#include "lowtide/array/npy_open.h"
#include "lowtide/array/prepare.h"
#include "lowtide/base/checked.h"
#include "lowtide/error.h"
#include "lowtide/formats/npy/npy.h"
#include "lowtide/formats/tokens/megatron.h"
#include "lowtide/formats/tokens/tokens.h"
#include "lowtide/loader/token_paths.h"

namespace lowtide {
namespace {

bool is_integer(DType dtype) { return dtype >= DType::int8 && dtype <= DType::uint64; }

std::string_view name(Endian endian) { return endian == Endian::little ? "little-endian" : "big-endian"; }

Layout one_dimensional(std::string_view format, DType dtype, std::uint64_t bytes) {
  return {.format = format,
          .dtype = dtype,
          .endian = Endian::little,
          .order = Order::c,
          .shape = {static_cast<std::int64_t>(bytes / itemsize(dtype))},
          .data_offset = 0};
}

Layout npy_tokens(io::File& file, std::span<const std::byte> head) {
  Layout layout = npy_layout(file, head);
  if (layout.shape.size() != 1) {
    throw FormatError(fmt::format("{}: tokens are an array of one dimension; this one has {}. Save x.ravel().",
                                  file.path(), layout.shape.size()));
  }
  if (!is_integer(layout.dtype)) {
    throw FormatError(fmt::format("{}: tokens are integers; this array is {}", file.path(), name(layout.dtype)));
  }
  layout.order = Order::c;  // of one dimension there is one order
  return layout;
}

std::string dtypes_that_divide(std::uint64_t bytes) {
  std::string typed;
  for (const DType dtype : {DType::uint8, DType::uint16, DType::uint32, DType::uint64}) {
    if (bytes % itemsize(dtype) != 0) continue;
    typed += fmt::format("{}dtype=\"{}\"", typed.empty() ? "" : " or ", name(dtype));
  }
  return typed;
}

Layout bare_tokens(const io::File& file, std::span<const std::byte> head, std::optional<DType> told) {
  const DType dtype = told ? *told : tokens::guess(head, file.size_bytes());
  if (const std::uint64_t left_bytes = file.size_bytes() % itemsize(dtype); left_bytes != 0) {
    throw FormatError(fmt::format(
        "{}: {} bytes are {} more than a whole number of tokens of {}{}. It was cut short (truncate -s {} drops the "
        "part of a token), or holds others: {}",
        file.path(), file.size_bytes(), left_bytes, name(dtype), told ? "" : ", which they look like",
        file.size_bytes() - left_bytes, dtypes_that_divide(file.size_bytes())));
  }
  return one_dimensional("raw", dtype, file.size_bytes());
}

void check_told(const Shard& shard, DType told) {
  if (shard.layout.dtype == told) return;
  throw FormatError(fmt::format(
      "{}: dtype {} was given, but {} says {}. Leave dtype out: it is for files without a header.", shard.file->path(),
      name(told), shard.index ? shard.index->path() : "its header", name(shard.layout.dtype)));
}

struct Opened {
  std::shared_ptr<io::File> file;
  std::vector<std::byte> head;
};

Opened open_file(const std::string& path) {
  auto file = io::File::open(path, io::Access::read);
  std::vector<std::byte> head = file->take_head();
  return {std::move(file), std::move(head)};
}

// Megatron's index beside a .bin; an .idx of another kind is not ours to judge.
std::optional<Opened> companion(const std::string& path) {
  const auto beside = index_path(path);
  std::error_code ignored;
  if (!beside || !std::filesystem::is_regular_file(*beside, ignored)) return std::nullopt;
  Opened index = open_file(*beside);
  if (!megatron::sniff(index.head)) return std::nullopt;
  return index;
}

Shard megatron_shard(std::shared_ptr<io::File> bin, Opened index) {
  const auto parsed = megatron::parse(index.head, index.file->size_bytes(), bin->size_bytes(), index.file->path());
  Layout layout = one_dimensional("megatron", parsed.dtype, bin->size_bytes());
  return {.file = std::move(bin), .layout = std::move(layout), .index = std::move(index.file)};
}

Shard open_shard(const std::string& path, std::optional<DType> told) {
  Opened opened = open_file(path);
  if (const auto bin = bin_path(path)) return megatron_shard(io::File::open(*bin, io::Access::read), std::move(opened));
  const std::shared_ptr<io::File> file = opened.file;  // outlives its pin, whatever throws
  const io::File::Pin pin = file->pin();
  Shard shard;
  if (npy::sniff(opened.head)) {
    shard.layout = npy_tokens(*file, opened.head);
  } else if (auto layout = tokens::sniff(opened.head, file->size_bytes(), path)) {
    shard.layout = *std::move(layout);
  } else if (auto index = companion(path)) {
    return megatron_shard(file, *std::move(index));
  } else {
    shard.layout = bare_tokens(*file, opened.head, told);
  }
  shard.file = file;
  return shard;
}

// An empty file without a header: nothing says its dtype, and nothing needs to.
bool says_nothing(const Shard& shard) { return shard.layout.format == "raw" && shard.file->size_bytes() == 0; }

void check_alike(const std::vector<Shard>& shards) {
  const Shard& first = shards.front();
  for (const Shard& shard : shards) {
    const Layout &a = first.layout, &b = shard.layout;
    if (a.dtype == b.dtype && (a.endian == b.endian || itemsize(a.dtype) == 1)) continue;
    const bool guessed = a.format == "raw" || b.format == "raw";
    throw FormatError(fmt::format(
        "{} holds {} ({}), {} holds {} ({}): the shards of a stream are alike.{}", first.file->path(), name(a.dtype),
        name(a.endian), shard.file->path(), name(b.dtype), name(b.endian),
        guessed ? " A file without a header looked so; if it is not, give the dtype: dtype=\"uint16\"." : ""));
  }
}

// Empty files take the dtype of the others.
void settle(std::vector<Shard>& shards) {
  const auto speaking = std::find_if_not(shards.begin(), shards.end(), says_nothing);
  if (speaking == shards.end()) return;
  for (Shard& shard : shards) {
    if (!says_nothing(shard)) continue;
    shard.layout.dtype = speaking->layout.dtype;
    shard.layout.endian = speaking->layout.endian;
  }
}

}  // namespace

TokenStream TokenStream::open(const std::vector<std::string>& paths, std::optional<DType> dtype) {
  prepare_process();
  if (dtype && !is_integer(*dtype)) {
    throw std::invalid_argument(
        fmt::format("dtype {}: tokens are integers, for example uint16", lowtide::name(*dtype)));
  }
  TokenStream stream;
  for (const std::string& path : token_paths(paths)) {
    Shard shard = open_shard(path, dtype);
    if (dtype) check_told(shard, *dtype);
    shard.first = stream.size_;
    shard.count = static_cast<std::uint64_t>(shard.layout.shape.front());
    const auto size = checked_add(stream.size_, shard.count);
    if (!size || *size > INT64_MAX) throw FormatError(fmt::format("{}: more than 2^63 - 1 tokens in all", path));
    stream.size_ = *size;
    stream.shards_.push_back(std::move(shard));
  }
  settle(stream.shards_);
  check_alike(stream.shards_);
  if (stream.size_ == 0) throw FormatError(fmt::format("{}: no tokens", stream.name()));
  return stream;
}

std::string TokenStream::name() const {
  const std::string& first = shards_.front().file->path();
  return shards_.size() == 1 ? first : fmt::format("{} and {} more", first, shards_.size() - 1);
}

std::size_t TokenStream::shard_of(std::uint64_t token) const {
  // The last of those that begin at or before it: empty ones before it begin where it does.
  const auto after = std::upper_bound(shards_.begin(), shards_.end(), token,
                                      [](std::uint64_t at, const Shard& shard) { return at < shard.first; });
  return static_cast<std::size_t>(after - shards_.begin()) - 1;
}

}  // namespace lowtide
