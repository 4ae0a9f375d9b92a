// Documents::from_index: Megatron's arrays, read side by side and checked against each other and the .bin.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/error.h"
#include "lowtide/formats/tokens/megatron.h"
#include "lowtide/loader/tokens/documents.h"
#include "lowtide/transfer/range.h"

namespace lowtide {
namespace {

// What one request reads of an array. Three arrays are read in turn, so longer ones would gain little.
constexpr std::uint64_t piece_bytes = 256_KiB;

// An array in a file, item by item. Its items need no alignment.
template <class T>
class Column {
 public:
  Column(io::File& file, std::uint64_t offset, std::uint64_t count, std::byte* memory, const Lease& in_flight)
      : file_(file), offset_(offset), left_(count), memory_(memory), in_flight_(in_flight) {}

  T next() {  // REQUIRES: called no more than `count` times
    if (ready_ == 0) read();
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    --ready_;
    return value;
  }

 private:
  void read() {
    const std::uint64_t inside = offset_ - whole_units({offset_, offset_ + 1}).begin;
    ready_ = std::min(left_, (piece_bytes - inside) / sizeof(T));
    read_range(file_, memory_, offset_, ready_ * sizeof(T), in_flight_);
    file_.check_unchanged();
    interrupt_point();
    at_ = memory_ + inside;
    offset_ += ready_ * sizeof(T);
    left_ -= ready_;
  }

  io::File& file_;
  std::uint64_t offset_;
  std::uint64_t left_;  // not read yet
  std::uint64_t ready_ = 0;
  const std::byte* at_ = nullptr;
  std::byte* memory_;
  const Lease& in_flight_;
};

megatron::Index header_of(const Shard& shard) {
  io::File& file = *shard.index;
  const io::File::Pin pin = file.pin();
  Lease lease = Budget::process().take(page_bytes + Pace::least_bytes(file), Purpose::staging,
                                       "reading the header of " + file.path());
  const Lease in_flight = lease.split(Pace::least_bytes(file), Purpose::staging);
  const Block block = Block::allocate(std::move(lease));
  read_range(file, block.data(), 0, megatron::header_bytes, in_flight);
  file.check_unchanged();
  return megatron::parse(std::span(block.data(), megatron::header_bytes), file.size_bytes(), shard.layout.data_bytes(),
                         file.path());
}

// One file's index, the three arrays side by side.
class IndexReader {
 public:
  static constexpr std::uint64_t memory_bytes = 3 * piece_bytes;

  IndexReader(const Shard& shard, const megatron::Index& index, std::byte* memory, const Lease& in_flight)
      : shard_(shard),
        index_(index),
        pin_(shard.index->pin()),
        lengths_(*shard.index, index.lengths_offset, index.sequence_count, memory, in_flight),
        pointers_(*shard.index, index.pointers_offset, index.sequence_count, memory + piece_bytes, in_flight),
        bounds_(*shard.index, index.documents_offset, index.document_count + 1, memory + 2 * piece_bytes, in_flight) {}

  // Calls visit(token of the shard) where a document begins: every one that has tokens, and some that have none.
  template <class Visit>
  void read(Visit visit) {
    const std::uint64_t item = itemsize(index_.dtype);
    std::uint64_t bytes = 0;  // of the sequences so far
    next_bound();
    for (std::uint64_t i = 0; i < index_.sequence_count; ++i) {
      for (; bound_ == i; next_bound()) visit(bytes / item);
      bytes += sequence_bytes(i, bytes, item);
    }
    while (bounds_read_ <= index_.document_count) next_bound();
    if (bytes != shard_.layout.data_bytes()) {
      throw FormatError(fmt::format("{}: its {} sequences end at byte {} of {}, which has {} bytes",
                                    shard_.index->path(), index_.sequence_count, bytes, shard_.file->path(),
                                    shard_.layout.data_bytes()));
    }
  }

 private:
  // Of sequence i, which has to begin at byte `begin`.
  std::uint64_t sequence_bytes(std::uint64_t i, std::uint64_t begin, std::uint64_t item) {
    const std::int32_t length = lengths_.next();
    const std::int64_t pointer = pointers_.next();
    if (length < 0) fail("sequence_lengths", i, length, "expected 0 or more");
    if (pointer < 0 || static_cast<std::uint64_t>(pointer) != begin) {
      fail("sequence_pointers", i, pointer, fmt::format("expected {}, where the sequences before it end", begin));
    }
    const std::uint64_t bytes = static_cast<std::uint64_t>(length) * item;
    const std::uint64_t most_bytes = shard_.layout.data_bytes() - begin;
    if (bytes > most_bytes) {
      fail("sequence_lengths", i, length,
           fmt::format("expected at most {}: it begins at byte {} of {}, which has {} bytes", most_bytes / item, begin,
                       shard_.file->path(), shard_.layout.data_bytes()));
    }
    return bytes;
  }

  void next_bound() {
    const std::uint64_t i = bounds_read_++;
    const std::int64_t value = bounds_.next();
    const std::int64_t sequence_count = static_cast<std::int64_t>(index_.sequence_count);
    if (i == 0 && value != 0) fail("document_indices", i, value, "expected 0, the first sequence");
    if (i == index_.document_count && value != sequence_count) {
      fail("document_indices", i, value, fmt::format("expected {}, the number of sequences", sequence_count));
    }
    if (value < static_cast<std::int64_t>(bound_) || value > sequence_count) {
      fail("document_indices", i, value,
           fmt::format("expected {} to {}: from the one before it to the number of sequences", bound_, sequence_count));
    }
    bound_ = static_cast<std::uint64_t>(value);
  }

  [[noreturn]] void fail(std::string_view field, std::uint64_t i, std::int64_t value, std::string_view expected) const {
    throw FormatError(fmt::format("{}: {}[{}] is {}; {}", shard_.index->path(), field, i, value, expected));
  }

  const Shard& shard_;
  const megatron::Index& index_;
  io::File::Pin pin_;
  Column<std::int32_t> lengths_;
  Column<std::int64_t> pointers_;
  Column<std::int64_t> bounds_;
  std::uint64_t bounds_read_ = 0;
  std::uint64_t bound_ = 0;  // the last one read
};

}  // namespace

Documents Documents::from_index(const TokenStream& stream) {
  struct Indexed {
    const Shard& shard;
    megatron::Index index;
  };
  std::vector<Indexed> indexed;
  std::uint64_t most_documents = 0, in_flight_bytes = 0;
  for (const Shard& shard : stream.shards()) {
    if (!shard.index && shard.count == 0) continue;
    if (!shard.index) {
      throw FormatError(
          fmt::format("{} has no index of documents (Megatron's .idx): give the token that ends a document instead",
                      shard.file->path()));
    }
    most_documents += indexed.emplace_back(Indexed{shard, header_of(shard)}).index.document_count;
    in_flight_bytes = std::max(in_flight_bytes, Pace::least_bytes(*shard.index));
  }
  const std::uint64_t index_bytes = round_up(8 * most_documents, page_bytes);
  Lease lease = Budget::process().take(index_bytes + IndexReader::memory_bytes + in_flight_bytes, Purpose::index,
                                       fmt::format("index of {} documents in {}", most_documents, stream.name()));
  const Lease in_flight = lease.split(in_flight_bytes, Purpose::staging);
  const Block working = Block::allocate(lease.split(IndexReader::memory_bytes, Purpose::staging));
  Block block = Block::allocate(std::move(lease));

  Documents documents;
  documents.stream_end_ = stream.size();
  auto* const starts = reinterpret_cast<std::uint64_t*>(block.data());
  std::uint64_t& count = documents.count_;
  for (const auto& [shard, index] : indexed) {
    IndexReader(shard, index, working.data(), in_flight).read([&, first = shard.first](std::uint64_t token) {
      const std::uint64_t start = first + token;
      if (count == 0 || starts[count - 1] != start) starts[count++] = start;
    });
  }
  if (count > 0 && starts[count - 1] == documents.stream_end_) --count;
  documents.data_ = starts;
  documents.owner_ = std::make_shared<const Block>(std::move(block));
  return documents;
}

}  // namespace lowtide
