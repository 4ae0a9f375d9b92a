#include "lowtide/loader/tokens/token_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <system_error>

#include "lowtide/array/prepare.h"
#include "lowtide/base/checked.h"
#include "lowtide/error.h"
#include "lowtide/formats/registry.h"
#include "lowtide/formats/tokens/guess.h"
#include "lowtide/formats/tokens/megatron.h"
#include "lowtide/loader/sample_pages.h"
#include "lowtide/loader/tokens/token_paths.h"
#include "lowtide/source/header.h"

namespace lowtide {
namespace {

bool is_integer(DType dtype) { return dtype >= DType::int8 && dtype <= DType::uint64; }

std::string_view name(Endian endian) { return endian == Endian::little ? "little-endian" : "big-endian"; }

Layout one_dimensional(std::string_view format, DType dtype, std::uint64_t bytes, Endian endian = Endian::little) {
  return {.format = format,
          .dtype = dtype,
          .endian = endian,
          .order = Order::c,
          .shape = {static_cast<std::int64_t>(bytes / itemsize(dtype))},
          .data_offset = 0};
}

// Rows of a matrix are documents one after the other.
Layout header_tokens(io::File& file, std::span<const std::byte> head, const Format& format, std::uint64_t& row_tokens) {
  Layout layout = header_layout(file, head, format);
  const std::size_t dimensions = layout.shape.size();
  if (dimensions != 1 && dimensions != 2) {
    throw FormatError(
        fmt::format("{}: tokens are an array of one dimension, or of two, whose rows are documents; this "
                    "one has {}. Save x.ravel().",
                    file.path(), dimensions));
  }
  if (dimensions == 2 && layout.order == Order::fortran && layout.shape[0] > 1 && layout.shape[1] > 1) {
    throw FormatError(fmt::format(
        "{}: its rows are not one after the other (Fortran order). Save np.ascontiguousarray(x).", file.path()));
  }
  if (!is_integer(layout.dtype)) {
    throw FormatError(fmt::format("{}: tokens are integers; this array is {}", file.path(), name(layout.dtype)));
  }
  layout.order = Order::c;  // of one dimension there is one order
  if (dimensions == 2) {
    row_tokens = static_cast<std::uint64_t>(layout.shape[1]);
    layout.shape = {layout.shape[0] * layout.shape[1]};
  }
  return layout;
}

std::string dtypes_that_divide(std::uint64_t bytes) {
  std::string typed;
  for (const DType dtype : {DType::uint8, DType::uint16, DType::uint32, DType::uint64}) {
    if (bytes % itemsize(dtype) != 0) continue;
    typed += fmt::format("{}token_dtype=\"{}\"", typed.empty() ? "" : " or ", name(dtype));
  }
  return typed;
}

// The head alone, unless it is padding.
tokens::Guess guess_of(const std::shared_ptr<io::File>& file, std::span<const std::byte> head,
                       std::optional<std::uint64_t> vocabulary) {
  constexpr std::uint64_t pages_looked_at = 16;
  const tokens::Guess first = tokens::guess(head, vocabulary);
  const SamplePages pages(file, pages_looked_at);
  if (first.sure || pages.count() < 2) return first;
  const Buffer looked_at = pages.read(0, pages.count());
  return tokens::guess({looked_at.data(), looked_at.size_bytes()}, vocabulary);
}

Shard bare_tokens(const std::shared_ptr<io::File>& file, std::span<const std::byte> head, const BareTokens& bare) {
  const tokens::Guess found =
      bare.dtype ? tokens::Guess{*bare.dtype, bare.endian, true} : guess_of(file, head, bare.vocabulary);
  if (!bare.dtype && found.endian == Endian::big) {
    throw FormatError(fmt::format("{}: its bytes look like big-endian tokens of {}. If they are: token_dtype=\">u{}\"",
                                  file->path(), name(found.dtype), itemsize(found.dtype)));
  }
  const std::uint64_t bytes = file->size_bytes();
  if (const std::uint64_t left_bytes = bytes % itemsize(found.dtype); left_bytes != 0) {
    throw FormatError(fmt::format(
        "{}: {} bytes are {} more than a whole number of tokens of {}{}. It was cut short (truncate -s {} drops the "
        "part of a token), or holds others: {}",
        file->path(), bytes, left_bytes, name(found.dtype), bare.dtype ? "" : ", which they look like",
        bytes - left_bytes, dtypes_that_divide(bytes)));
  }
  return {.file = file,
          .layout = one_dimensional("raw", found.dtype, bytes, found.endian),
          .guessed = !bare.dtype,
          .undecided = !found.sure};
}

void check_told(const Shard& shard, const BareTokens& bare) {
  const Layout& layout = shard.layout;
  const bool swapped = bare.endian == Endian::big && layout.endian != bare.endian && itemsize(layout.dtype) > 1;
  if (layout.dtype == *bare.dtype && !swapped) return;
  throw FormatError(fmt::format(
      "{}: token_dtype {}{} was given, but {} says {}. Leave token_dtype out: it is for files without a header.",
      shard.file->path(), name(*bare.dtype), swapped ? ", big-endian," : "",
      shard.index ? shard.index->path() : "its header", name(layout.dtype)));
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

Shard open_shard(const std::string& path, const BareTokens& bare) {
  Opened opened = open_file(path);
  if (const auto bin = bin_path(path)) return megatron_shard(io::File::open(*bin, io::Access::read), std::move(opened));
  const std::shared_ptr<io::File> file = opened.file;  // outlives its pin, whatever throws
  const io::File::Pin pin = file->pin();
  Shard shard;
  if (const Format* format = sniff_format(opened.head); format != nullptr && format->parse != nullptr) {
    shard.layout = header_tokens(*file, opened.head, *format, shard.row_tokens);
  } else if (auto index = companion(path)) {
    return megatron_shard(file, *std::move(index));
  } else {
    return bare_tokens(file, opened.head, bare);
  }
  shard.file = file;
  return shard;
}

// An empty file, or one of nothing but padding.
bool says_nothing(const Shard& shard) {
  return shard.layout.format == "raw" && (shard.file->size_bytes() == 0 || shard.undecided);
}

void check_alike(const std::vector<Shard>& shards) {
  const Shard& first = shards.front();
  for (const Shard& shard : shards) {
    const Layout &a = first.layout, &b = shard.layout;
    if (a.dtype == b.dtype && (a.endian == b.endian || itemsize(a.dtype) == 1)) continue;
    const bool guessed = a.format == "raw" || b.format == "raw";
    throw FormatError(fmt::format(
        "{} holds {} ({}), {} holds {} ({}): the shards of a stream are alike.{}", first.file->path(), name(a.dtype),
        name(a.endian), shard.file->path(), name(b.dtype), name(b.endian),
        guessed ? " A file without a header looked so; if it is not, give the dtype: token_dtype=\"uint16\"." : ""));
  }
}

// Files that say nothing take the dtype of the others.
void settle(std::vector<Shard>& shards) {
  const auto speaking = std::find_if_not(shards.begin(), shards.end(), says_nothing);
  if (speaking == shards.end()) return;
  for (Shard& shard : shards) {
    const std::uint64_t bytes = shard.file->size_bytes();
    if (!says_nothing(shard) || bytes % itemsize(speaking->layout.dtype) != 0) continue;
    shard.layout = one_dimensional("raw", speaking->layout.dtype, bytes, speaking->layout.endian);
  }
}

}  // namespace

TokenStream TokenStream::open(const std::vector<std::string>& paths, const BareTokens& bare) {
  prepare_process();
  if (bare.dtype && !is_integer(*bare.dtype)) {
    throw std::invalid_argument(
        fmt::format("token_dtype {}: tokens are integers, for example uint16", lowtide::name(*bare.dtype)));
  }
  TokenStream stream;
  for (const std::string& path : token_paths(paths)) {
    stream.shards_.push_back(open_shard(path, bare));
    if (bare.dtype) check_told(stream.shards_.back(), bare);
  }
  settle(stream.shards_);
  check_alike(stream.shards_);
  for (Shard& shard : stream.shards_) {
    shard.first = stream.size_;
    shard.count = static_cast<std::uint64_t>(shard.layout.shape.front());
    const auto size = checked_add(stream.size_, shard.count);
    if (!size || *size > INT64_MAX)
      throw FormatError(fmt::format("{}: more than 2^63 - 1 tokens in all", shard.file->path()));
    stream.size_ = *size;
  }
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
