#include "lowtide/cli/token_info.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "lowtide/array/stream.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/base/units.h"
#include "lowtide/cli/failure.h"
#include "lowtide/cli/progress_bar.h"
#include "lowtide/formats/tokens/megatron.h"
#include "lowtide/kernels/find_value.h"
#include "lowtide/kernels/widen.h"
#include "lowtide/loader/tokens/token_paths.h"

namespace lowtide::cli {
namespace {

BareTokens told_tokens(const RawOptions& raw) {
  if (!raw.shape.empty() || !raw.offset.empty() || !raw.order.empty())
    throw UsageError("tokens have one dimension and fill their file: --tokens goes with no shape, offset or order");
  if (raw.dtype.empty()) return {};
  const bool big = raw.dtype.starts_with('>');
  return {.dtype = parse_dtype_option(big ? raw.dtype.substr(1) : raw.dtype),
          .endian = big ? Endian::big : Endian::little};
}

std::vector<std::string> formats_of(const TokenStream& stream) {
  std::vector<std::string> formats;
  for (const Shard& shard : stream.shards()) {
    if (std::find(formats.begin(), formats.end(), shard.layout.format) == formats.end())
      formats.emplace_back(shard.layout.format);
  }
  return formats;
}

// What the indices of Megatron's pairs say; nothing if a shard has none.
struct IndexCount {
  std::uint64_t documents = 0, sequences = 0;
  bool multimodal = false;
};
std::optional<IndexCount> indexed(const TokenStream& stream) {
  IndexCount count;
  for (const Shard& shard : stream.shards()) {
    if (!shard.index) return std::nullopt;
    const auto index = io::File::open(shard.index->path(), io::Access::read);
    const auto parsed =
        megatron::parse(index->take_head(), index->size_bytes(), shard.file->size_bytes(), index->path());
    count.documents += parsed.document_count;
    count.sequences += parsed.sequence_count;
    count.multimodal = count.multimodal || parsed.multimodal;
  }
  return count;
}

// What only reading every token can tell.
struct Scan {
  bool done = false;  // the rest means nothing before
  TokenRange range;
  std::uint64_t eot_count = 0;
  bool ends_with_eot = false;
  double seconds = 0;
  // Tokens after the last EOT are a document too.
  std::uint64_t documents() const { return eot_count + (ends_with_eot ? 0 : 1); }
};

class Scanner {
 public:
  explicit Scanner(std::optional<std::uint64_t> eot) : eot_(eot) {}

  void add(const Buffer& tokens) {
    const auto count = static_cast<std::size_t>(tokens.size());
    const TokenRange range = widen(tokens.data(), tokens.dtype(), count, nullptr, nullptr, DType::int64);
    scan_.range.least = std::min(scan_.range.least, range.least);
    scan_.range.greatest = std::max(scan_.range.greatest, range.greatest);
    if (eot_ && count > 0) count_eot(tokens, count);
  }
  Scan& scan() { return scan_; }

 private:
  void count_eot(const Buffer& tokens, std::size_t count) {
    const std::size_t item = itemsize(tokens.dtype());
    scan_.ends_with_eot = false;
    for (std::size_t at = 0; at < count; ++at) {
      at += find_value(tokens.data() + at * item, tokens.dtype(), count - at, *eot_);
      if (at == count) break;
      ++scan_.eot_count;
      scan_.ends_with_eot = at + 1 == count;
    }
  }

  std::optional<std::uint64_t> eot_;
  Scan scan_;
};

Scan scan_tokens(const TokenStream& stream, const TokenOptions& options, const SharedOptions& shared) {
  if (options.eot && !holds_value(stream.dtype(), *options.eot))
    throw UsageError(fmt::format("--eot {}: no token of {} can be that", *options.eot, lowtide::name(stream.dtype())));
  ProgressBar bar(shared, stream.name());
  Scanner scanner(options.eot);
  const std::uint64_t total_bytes = stream.size() * itemsize(stream.dtype());
  std::uint64_t done_bytes = 0;
  for (const Shard& shard : stream.shards()) {
    if (shard.count == 0) continue;
    const auto source = std::make_shared<const FileSource>(shard.file, shard.layout);
    RowStream rows(source, source->whole(), 0);
    for (RowBlock block; rows.next(block);) {
      scanner.add(block.buffer);
      done_bytes += block.buffer.size_bytes();
      bar.show(done_bytes, total_bytes);
      interrupt_point();
    }
  }
  scanner.scan().done = true;
  scanner.scan().seconds = bar.seconds();
  return scanner.scan();
}

void add_size(const TokenStream& stream, const RawOptions& raw, Json& json, Fields& fields) {
  const std::vector<std::string> formats = formats_of(stream);
  const std::uint64_t data_bytes = stream.size() * itemsize(stream.dtype());
  const bool guessed = raw.dtype.empty() && formats == std::vector<std::string>{"raw"};
  json["format"] = formats.size() == 1 ? Json(formats.front()) : Json(formats);
  json["dtype"] = lowtide::name(stream.dtype());
  json["dtype_guessed"] = guessed;
  json["endian"] = name(stream.endian());
  json["tokens"] = stream.size();
  json["data_bytes"] = data_bytes;
  json["files"] = stream.shards().size();

  fields.add("format", fmt::format("{}", fmt::join(formats, ", ")));
  fields.add("tokens", fmt::format("{} ({})", stream.size(), format_bytes(data_bytes)));
  if (const std::size_t files = stream.shards().size(); files > 1)
    fields.add("files", fmt::format("{}, from {} to {}", files, stream.shards().front().file->path(),
                                    stream.shards().back().file->path()));
  fields.add("dtype", fmt::format("{}, {}-endian{}", lowtide::name(stream.dtype()), name(stream.endian()),
                                  guessed ? "; guessed from the first bytes (--dtype if it is another)" : ""));
}

void add_documents(const TokenStream& stream, const Scan& scan, const TokenOptions& options, Json& json,
                   Fields& fields) {
  const auto index = indexed(stream);
  json["documents"] = index ? Json(index->documents) : Json();
  if (index) {
    json["sequences"] = index->sequences;
    json["multimodal"] = index->multimodal;
    fields.add("documents", fmt::format("{}, in {} sequences{}", index->documents, index->sequences,
                                        index->multimodal ? ", multimodal" : ""));
  }
  if (scan.done && options.eot) {
    json["eot"] = *options.eot;
    json["eot_count"] = scan.eot_count;
    if (!index) json["documents"] = scan.documents();
    fields.add(index ? "" : "documents",
               fmt::format("{} by token {} ({} times)", scan.documents(), *options.eot, scan.eot_count));
  }
  if (!index && !options.eot) fields.add("documents", "not known: --tokens --eot 50256 counts those that end so");
}

void add_greatest(const TokenStream& stream, const Scan& scan, Json& json, Fields& fields) {
  json["greatest_token"] = scan.done ? Json(scan.range.greatest) : Json();
  json["vocabulary_at_least"] = nullptr;
  if (!scan.done) return fields.add("greatest", "not known: --tokens reads them all");
  const TokenRange& range = scan.range;
  const bool countable = range.greatest < UINT64_MAX;
  if (countable) json["vocabulary_at_least"] = range.greatest + 1;
  if (range.least < 0) json["least_token"] = range.least;
  fields.add("greatest", countable ? fmt::format("{}: a vocabulary of at least {}", range.greatest, range.greatest + 1)
                                   : fmt::format("{}", range.greatest));
  if (range.least < 0) fields.add("least", fmt::format("{}, which is no token", range.least));
  fields.add("read", format_pace(stream.size() * itemsize(stream.dtype()), scan.seconds));
}

void add_windows(const TokenStream& stream, std::uint64_t block, Json& json, Fields& fields) {
  const std::uint64_t window_tokens = block + 1;
  const std::uint64_t count = stream.size() / window_tokens, left = stream.size() % window_tokens;
  json["windows"] = {{"block", block}, {"count", count}, {"left_over_tokens", left}};
  fields.add("windows",
             fmt::format("{} of {} tokens in an epoch (block {}), {} left over", count, window_tokens, block, left));
}

}  // namespace

std::shared_ptr<TokenOptions> add_token_options(CLI::App* verb) {
  auto options = std::make_shared<TokenOptions>();
  const char* group = "Tokens";
  verb->add_flag("--tokens", options->scan, "It holds tokens; read them all")->group(group);
  is_whole_number(verb->add_option("--eot", options->eot, "The token that ends a document: count them"), 0)
      ->type_name("N")
      ->group(group);
  is_whole_number(verb->add_option("--block", options->block, "Windows of N+1 tokens in an epoch"), 1)
      ->type_name("N")
      ->group(group);
  return options;
}

bool holds_tokens(const std::string& path) {
  const std::string first = token_paths({path}).front();
  const std::string format = look_at(first).format;
  if (!format.empty()) return format != "npy";
  const auto beside = index_path(first);
  std::error_code ignored;
  return beside && std::filesystem::is_regular_file(*beside, ignored) && look_at(*beside).format == "megatron";
}

void refuse_without_tokens(const TokenOptions& options) {
  if (options.eot || options.block)
    throw UsageError(fmt::format("{} is about tokens, and this file does not say that it holds any",
                                 options.eot ? "--eot" : "--block"),
                     "add --tokens");
}

TokenStream describe_tokens(const std::string& path, const RawOptions& raw, const TokenOptions& options,
                            const SharedOptions& shared, Json& json, Fields& fields) {
  if (options.eot && !options.scan) throw UsageError("--eot counts documents by reading every token", "add --tokens");
  if (options.block && (*options.block == 0 || *options.block > INT64_MAX))
    throw UsageError(fmt::format("--block {}: not a length of windows", *options.block));
  TokenStream stream = TokenStream::open({path}, told_tokens(raw));
  const Scan scan = options.scan ? scan_tokens(stream, options, shared) : Scan{};
  add_size(stream, raw, json, fields);
  add_documents(stream, scan, options, json, fields);
  add_greatest(stream, scan, json, fields);
  if (options.block) add_windows(stream, *options.block, json, fields);
  return stream;
}

}  // namespace lowtide::cli
