#include "lowtide/loader/tokens/token_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/kernels/byteswap.h"
#include "lowtide/kernels/widen.h"

namespace lowtide {
namespace {

constexpr std::uint64_t array_align = 64;
constexpr std::uint64_t most_read_bytes = 256_KiB;
// No vocabulary has so many tokens: what looked like uint32 is int32 with marks below zero.
constexpr std::uint64_t least_negative_int32 = std::uint64_t{1} << 31;

std::uint64_t tag_of(std::uint64_t row, std::uint64_t at) { return row << 32 | at; }
std::uint64_t row_of(std::uint64_t tag) { return tag >> 32; }
std::uint64_t at_of(std::uint64_t tag) { return tag & 0xFFFFFFFFu; }

std::uint64_t first_that_does_not_fit(DType dtype) {
  if (dtype == DType::uint16) return std::uint64_t{1} << 16;
  return dtype == DType::int32 ? std::uint64_t{1} << 31 : std::uint64_t{1} << 63;
}

template <class Visit>
void with_dtype(DType dtype, Visit visit) {
  if (dtype == DType::uint16) {
    visit(std::uint16_t{});
  } else if (dtype == DType::int32) {
    visit(std::int32_t{});
  } else {
    visit(std::int64_t{});
  }
}

}  // namespace

TokenBatches::TokenBatches(std::shared_ptr<const TokenSource> source, const WindowGrid& grid, const Sampler& sampler,
                           const TokenFormat& format)
    : source_(std::move(source)), grid_(grid), sampler_(sampler), format_(format) {
  const std::uint64_t entries = format_.batch * format_.block;
  std::uint64_t end = 0;
  const auto add = [&](std::uint64_t bytes) {
    const std::uint64_t begin = end;
    end = round_up(end + bytes, array_align);
    return begin;
  };
  places_.x = add(entries * itemsize(format_.dtype));
  places_.y = add(entries * itemsize(format_.dtype));
  if (format_.marks) {
    places_.positions = add(entries * sizeof(std::int32_t));
    places_.mask = add(entries);
    places_.cu_seqlens = add((entries + 1) * sizeof(std::int32_t));
  }
  places_.bytes = end;

  const TokenStream& stream = source_->stream;
  std::vector<std::shared_ptr<io::File>> files;
  for (const Shard& shard : stream.shards()) files.push_back(shard.file);
  const std::uint64_t window_bytes = (format_.block + 1) * itemsize(stream.dtype());
  traits_.what = fmt::format("loading batches of {} x {} tokens from {}", format_.batch, format_.block, stream.name());
  traits_.batch_bytes = places_.bytes + list_bytes(format_.batch, format_.batch);
  traits_.read_bytes = sampler_.kind() == Sampler::Kind::sequential
                           ? std::max(window_bytes, std::min(window_bytes * format_.batch, most_read_bytes))
                           : window_bytes;
  traits_.file_count = files.size();
  traits_.mode = common_mode(files);
  traits_.pin = format_.pin;
  limit_ = first_that_does_not_fit(format_.dtype);
  if (stream.guessed() && stream.dtype() == DType::uint32) limit_ = std::min(limit_, least_negative_int32);
  if (format_.vocabulary) limit_ = std::min(limit_, *format_.vocabulary);
}

std::uint64_t TokenBatches::window_begin(const Batch& batch, std::uint64_t row, Phase& phase) const {
  const std::uint64_t epoch =
      sampler_.kind() == Sampler::Kind::sampled ? 0 : (batch.step.begin + row) / sampler_.sample_count();
  if (epoch != phase.epoch) phase = {epoch, grid_.phase(epoch)};
  return grid_.begin(batch.samples[row], phase.tokens);
}

std::uint64_t TokenBatches::plan(Batch& batch) {
  add_pieces(batch);
  return places_.bytes + list_bytes(batch.samples.size(), batch.pieces.size());
}

void TokenBatches::add_pieces(Batch& batch) const {
  sampler_.fill(batch.step.begin, batch.step.end, batch.samples);
  Phase phase;
  for (std::uint64_t row = 0; row < batch.samples.size(); ++row) {
    if (!source_->packing) {
      add_window(batch, row, window_begin(batch, row, phase), format_.block + 1, 0);
      continue;
    }
    std::uint64_t at = 0;
    for (const PackedDocument& document : source_->packing->window(batch.samples[row])) {
      add_window(batch, row, document.begin, document.count, at);
      at += document.count;
    }
  }
}

std::vector<TokenOrigin> TokenBatches::origins(const Step& step) const {
  Batch batch;
  batch.step = step;
  add_pieces(batch);
  const TokenStream& stream = source_->stream;
  const std::uint64_t item = itemsize(stream.dtype());
  std::vector<TokenOrigin> origins;
  for (const Piece& piece : batch.pieces) {
    const auto shard = std::find_if(stream.shards().begin(), stream.shards().end(),
                                    [&](const Shard& one) { return one.file.get() == piece.file; });
    TokenOrigin& origin =
        origins.emplace_back(TokenOrigin{row_of(piece.tag), piece.file->path(), piece.offset, piece.bytes / item});
    origin.token = shard->first + (piece.offset - shard->layout.data_offset) / item;
    if (source_->documents) origin.document = source_->documents->document_of(origin.token);
  }
  return origins;
}

void TokenBatches::add_window(Batch& batch, std::uint64_t row, std::uint64_t begin, std::uint64_t count,
                              std::uint64_t at) const {
  const TokenStream& stream = source_->stream;
  stream.pieces(begin, begin + count, [&](const TokenPiece& piece) {
    batch.pieces.push_back({stream.shards()[piece.shard].file.get(), piece.offset,
                            piece.count * itemsize(stream.dtype()), tag_of(row, at + piece.at)});
  });
}

// Token k of a window is x[k] and y[k - 1]: the first is no target, the last no input.
void TokenBatches::place(Batch& batch, const Piece& piece, std::uint64_t at, std::span<const std::byte> bytes) {
  const DType from = source_->stream.dtype();
  const std::uint64_t item = itemsize(from);
  const std::uint64_t out = itemsize(format_.dtype);
  const std::uint64_t count = bytes.size() / item;
  const std::byte* tokens = bytes.data();
  std::vector<std::byte> swapped;
  if (source_->stream.endian() != native_endian) {
    swapped.assign(bytes.begin(), bytes.end());
    byteswap(swapped.data(), from, count);
    tokens = swapped.data();
  }
  std::byte* x = batch.block.data() + places_.x + row_of(piece.tag) * format_.block * out;
  std::byte* y = batch.block.data() + places_.y + row_of(piece.tag) * format_.block * out;
  const std::uint64_t first = at_of(piece.tag) + at / item;
  const std::uint64_t last = first + count;
  const auto copy = [&](std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    const TokenRange range =
        widen(tokens + (begin - first) * item, from, end - begin, begin < format_.block ? x + begin * out : nullptr,
              begin > 0 ? y + (begin - 1) * out : nullptr, format_.dtype);
    if (!in_range(range.least, range.greatest)) check_range(batch, piece, at, tokens, count);
  };
  copy(first, std::min<std::uint64_t>(last, 1));
  copy(std::max<std::uint64_t>(first, 1), std::min(last, format_.block));
  copy(std::max(first, format_.block), last);
}

bool TokenBatches::in_range(std::int64_t least, std::uint64_t greatest) const {
  return (least >= 0 || (!format_.vocabulary && format_.dtype != DType::uint16)) && greatest < limit_;
}

void TokenBatches::check_range(const Batch&, const Piece& piece, std::uint64_t at, const std::byte* tokens,
                               std::uint64_t count) const {
  const DType from = source_->stream.dtype();
  std::int64_t value = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const TokenRange one =
        widen(tokens + i * itemsize(from), from, 1, reinterpret_cast<std::byte*>(&value), nullptr, DType::int64);
    if (in_range(one.least, one.greatest)) continue;
    const std::uint64_t offset = piece.offset + at + i * itemsize(from);
    const std::string found = one.least < 0 ? fmt::format("{}", one.least) : fmt::format("{}", one.greatest);
    throw FormatError(fmt::format("{}: token {} at byte {} is out of range for {}", piece.file->path(), found, offset,
                                  range_text(one.greatest)));
  }
}

std::string TokenBatches::range_text(std::uint64_t greatest) const {
  const bool guessed = source_->stream.guessed();
  const bool of_vocabulary = format_.vocabulary && *format_.vocabulary == limit_;
  if (guessed && greatest >= least_negative_int32 && source_->stream.dtype() == DType::uint32)
    return "what looked like uint32; if negative numbers mark something there: token_dtype=\"int32\"";
  if (!of_vocabulary) return fmt::format("{}: use a wider dtype", name(format_.dtype));
  const std::string looked =
      fmt::format("; its tokens looked like {}, and if they are others: token_dtype=", name(source_->stream.dtype()));
  return fmt::format("a vocabulary of {}{}", limit_, guessed ? looked : "");
}

void TokenBatches::finish(Batch& batch) {
  const std::uint64_t rows = batch.samples.size();
  if (source_->packing) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      std::uint64_t count = 0;
      for (const PackedDocument& document : source_->packing->window(batch.samples[row])) count += document.count;
      pad_row(batch, row, count);
    }
  }
  if (!format_.marks) return;
  std::byte* base = batch.block.data();
  Marker marker(
      {reinterpret_cast<std::int32_t*>(base + places_.positions), reinterpret_cast<std::uint8_t*>(base + places_.mask),
       reinterpret_cast<std::int32_t*>(base + places_.cu_seqlens)},
      static_cast<std::int64_t>(format_.block));
  std::vector<std::int32_t> starts;
  Phase phase;
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint64_t count = format_.block + 1;
    if (source_->packing) {
      count = 0;
      for (const PackedDocument& document : source_->packing->window(batch.samples[row])) count += document.count;
    }
    const bool begins_at_end = row_starts(batch, row, phase, starts);
    // The target of the last input is padding, or of another document.
    const bool ends = begins_at_end || count <= format_.block;
    marker.row(starts, ends, static_cast<std::int64_t>(std::min(count, format_.block)));
  }
  const std::int64_t bounds = marker.finish();
  batch.notes = {bounds, marker.longest()};
  if (format_.ignore_index) ignore_masked(batch);
}

void TokenBatches::ignore_masked(Batch& batch) const {
  with_dtype(format_.dtype, [&](auto kind) {
    using T = decltype(kind);
    T* y = reinterpret_cast<T*>(batch.block.data() + places_.y);
    const std::byte* mask = batch.block.data() + places_.mask;
    const T ignored = static_cast<T>(*format_.ignore_index);
    const std::uint64_t count = batch.samples.size() * format_.block;
    for (std::uint64_t i = 0; i < count; ++i) y[i] = mask[i] == std::byte{0} ? ignored : y[i];
  });
}

bool TokenBatches::row_starts(const Batch& batch, std::uint64_t row, Phase& phase,
                              std::vector<std::int32_t>& starts) const {
  starts.clear();
  bool at_end = false;
  const auto add = [&](std::uint64_t at) {
    if (at < format_.block) starts.push_back(static_cast<std::int32_t>(at));
    at_end = at_end || at == format_.block;
  };
  const std::uint64_t sample = batch.samples[row];
  if (source_->packing) {
    std::uint64_t at = 0;
    for (const PackedDocument& document : source_->packing->window(sample)) {
      add(at);
      at += document.count;
    }
  } else if (source_->documents) {
    const std::uint64_t begin = window_begin(batch, row, phase);
    for (const std::uint64_t start : source_->documents->starts(begin, begin + format_.block + 1)) add(start - begin);
  } else if (format_.eot) {
    with_dtype(format_.dtype, [&](auto kind) {
      using T = decltype(kind);
      const T* x = reinterpret_cast<const T*>(batch.block.data() + places_.x) + row * format_.block;
      const T eot = static_cast<T>(*format_.eot);
      for (std::uint64_t i = 0; i < format_.block; ++i) {
        if (x[i] == eot) add(i + 1);
      }
    });
  }
  return at_end;
}

void TokenBatches::pad_row(Batch& batch, std::uint64_t row, std::uint64_t count) const {
  with_dtype(format_.dtype, [&](auto kind) {
    using T = decltype(kind);
    T* x = reinterpret_cast<T*>(batch.block.data() + places_.x) + row * format_.block;
    T* y = reinterpret_cast<T*>(batch.block.data() + places_.y) + row * format_.block;
    const T pad = static_cast<T>(format_.pad);
    if (count < format_.block) std::fill(x + count, x + format_.block, pad);
    if (count <= format_.block) std::fill(y + (count > 0 ? count - 1 : 0), y + format_.block, pad);
  });
}

TokenBatch TokenBatches::unpack(const Delivery& delivery) const {
  const auto rows = static_cast<std::int64_t>(delivery.step.end - delivery.step.begin);
  const Shape shape{rows, static_cast<std::int64_t>(format_.block)};
  const auto view = [&](std::uint64_t place, Shape of, DType dtype) {
    return Buffer(delivery.owner, delivery.data + place, std::move(of), dtype);
  };
  TokenBatch batch;
  batch.x = view(places_.x, shape, format_.dtype);
  batch.y = view(places_.y, shape, format_.dtype);
  if (!format_.marks) return batch;
  batch.positions = view(places_.positions, shape, DType::int32);
  batch.mask = view(places_.mask, shape, DType::bool_);
  batch.cu_seqlens = view(places_.cu_seqlens, {delivery.notes.at(0)}, DType::int32);
  batch.longest_segment = delivery.notes.at(1);
  return batch;
}

}  // namespace lowtide
