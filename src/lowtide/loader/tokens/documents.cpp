#include "lowtide/loader/tokens/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "lowtide/array/stream.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/kernels/find_value.h"

namespace lowtide {
namespace {

// How many documents there are is known only when all tokens have been read. Reading them twice would double minutes of disk time, and
// a block that doubles needs three times the index while it moves. Lengths in groups of 7 bits are about 2 bytes each: all of them,
// beside the index that they become, are a quarter more than the index.
class Lengths {
 public:
  explicit Lengths(const TokenStream& stream) : stream_(stream) {}

  std::uint64_t count() const { return count_; }

  void add(std::uint64_t length) {
    if (chunk_bytes - used_ < most_code_bytes) add_chunk();
    std::byte* const chunk = chunks_.back().data();
    for (; length >= 128; length >>= 7) chunk[used_++] = static_cast<std::byte>(length | 128);
    chunk[used_++] = static_cast<std::byte>(length);
    ++count_;
  }

  // Writes count() starts, and frees the lengths on the way.
  void sum_into(std::uint64_t* starts) {
    std::uint64_t start = 0, left = count_;
    for (; left > 0; chunks_.pop_front()) {
      const std::byte* const chunk = chunks_.front().data();
      for (std::size_t at = 0; left > 0 && chunk_bytes - at >= most_code_bytes; --left) {
        *starts++ = start;
        std::uint64_t length = 0;
        int shift = 0;
        do {
          length |= static_cast<std::uint64_t>(chunk[at] & std::byte{127}) << shift;
          shift += 7;
        } while ((chunk[at++] & std::byte{128}) != std::byte{0});
        start += length;
      }
    }
  }

 private:
  static constexpr std::size_t chunk_bytes = 256_KiB;
  static constexpr std::size_t most_code_bytes = 10;  // of 64 bits

  void add_chunk() {
    const std::string operation = fmt::format("index of more than {} documents in {}", count_, stream_.name());
    Budget& budget = Budget::process();
    // What cannot fit in the end is refused now rather than after the last token.
    if (8 * count_ > budget.limit_bytes()) budget.take(8 * count_, Purpose::index, operation);
    chunks_.push_back(Block::allocate(budget.take(chunk_bytes, Purpose::index, operation)));
    used_ = 0;
  }

  const TokenStream& stream_;
  std::deque<Block> chunks_;
  std::size_t used_ = chunk_bytes;
  std::uint64_t count_ = 0;
};

Lengths scan(const TokenStream& stream, std::uint64_t eot) {
  Lengths lengths(stream);
  const std::size_t item = itemsize(stream.dtype());
  std::uint64_t begin = 0;  // of the document, in the stream
  std::uint64_t position = 0;
  for (const Shard& shard : stream.shards()) {
    if (shard.count == 0) continue;
    const auto source = std::make_shared<const FileSource>(shard.file, shard.layout);
    RowStream rows(source, source->whole(), 0);
    for (RowBlock block; rows.next(block);) {
      const std::byte* const tokens = block.buffer.data();
      const auto count = static_cast<std::size_t>(block.buffer.size());
      std::size_t at = 0;
      while ((at += find_value(tokens + at * item, stream.dtype(), count - at, eot)) < count) {
        ++at;
        lengths.add(position + at - begin);
        begin = position + at;
      }
      position += count;
      interrupt_point();
    }
  }
  if (position > begin) lengths.add(position - begin);
  return lengths;
}

}  // namespace

Documents Documents::from_eot(const TokenStream& stream, std::uint64_t eot) {
  if (!holds_value(stream.dtype(), eot)) {
    throw std::invalid_argument(
        fmt::format("no token of {} can be {}: its tokens are {}", stream.name(), eot, lowtide::name(stream.dtype())));
  }
  Lengths lengths = scan(stream, eot);
  Documents documents;
  documents.count_ = lengths.count();
  documents.stream_end_ = stream.size();
  Block block = Block::allocate(
      Budget::process().take(round_up(8 * documents.count_, page_bytes), Purpose::index,
                             fmt::format("index of {} documents in {}", documents.count_, stream.name())));
  auto* const starts = reinterpret_cast<std::uint64_t*>(block.data());
  lengths.sum_into(starts);
  documents.data_ = starts;
  documents.owner_ = std::make_shared<const Block>(std::move(block));
  return documents;
}

Documents Documents::from_starts(std::span<const std::uint64_t> starts, std::uint64_t stream_end) {
  Documents documents;
  documents.stream_end_ = stream_end;
  Block block = Block::allocate(Budget::process().take(round_up(8 * starts.size(), page_bytes), Purpose::index,
                                                       fmt::format("index of {} documents", starts.size())));
  auto* const out = reinterpret_cast<std::uint64_t*>(block.data());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::uint64_t next = i + 1 < starts.size() ? starts[i + 1] : stream_end;
    if (next < starts[i]) {
      throw std::invalid_argument(fmt::format("document {} begins at token {}, after {} at {}", i, starts[i],
                                              i + 1 < starts.size() ? "the next one" : "the end of the stream", next));
    }
    if (next > starts[i]) out[documents.count_++] = starts[i];
  }
  documents.data_ = out;
  documents.owner_ = std::make_shared<const Block>(std::move(block));
  return documents;
}

Documents Documents::from_rows(const TokenStream& stream) {
  Documents documents;
  documents.stream_end_ = stream.size();
  for (const Shard& shard : stream.shards()) {
    if (shard.row_tokens == 0 && shard.count > 0)
      throw FormatError(shard.file->path() + " has no rows: the files before it are arrays of two dimensions");
    if (shard.count > 0) documents.count_ += shard.count / shard.row_tokens;
  }
  Block block = Block::allocate(
      Budget::process().take(round_up(8 * documents.count_, page_bytes), Purpose::index,
                             fmt::format("index of {} documents in {}", documents.count_, stream.name())));
  auto* start = reinterpret_cast<std::uint64_t*>(block.data());
  documents.data_ = start;
  for (const Shard& shard : stream.shards()) {
    for (std::uint64_t at = 0; at < shard.count; at += shard.row_tokens) *start++ = shard.first + at;
  }
  documents.owner_ = std::make_shared<const Block>(std::move(block));
  return documents;
}

std::uint64_t Documents::document_of(std::uint64_t token) const {
  const std::uint64_t* const after = std::upper_bound(data_, data_ + count_, token);
  return after == data_ ? 0 : static_cast<std::uint64_t>(after - data_) - 1;
}

Documents Documents::within(std::vector<TokenSpan> spans) const {
  Documents documents = *this;
  documents.spans_ = std::move(spans);
  return documents;
}

bool Documents::taken(std::uint64_t document) const {
  if (!spans_) return true;
  const auto after = std::upper_bound(spans_->begin(), spans_->end(), start(document),
                                      [](std::uint64_t token, const TokenSpan& span) { return token < span.begin; });
  return after != spans_->begin() && end(document) <= std::prev(after)->end;
}

std::span<const std::uint64_t> Documents::starts(std::uint64_t begin, std::uint64_t end) const {
  const std::uint64_t* const first = std::lower_bound(data_, data_ + count_, begin);
  return {first, std::lower_bound(first, data_ + count_, end)};
}

}  // namespace lowtide
