#include "lowtide/token_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "lowtide/base/fork.h"
#include "lowtide/error.h"
#include "lowtide/kernels/find_value.h"
#include "lowtide/loader/fingerprint.h"
#include "lowtide/loader/prefetch/batch_stream.h"
#include "lowtide/loader/tokens/documents_cache.h"
#include "lowtide/loader/tokens/token_batches.h"

namespace lowtide {
namespace {

void refuse(const std::string& text) { throw std::invalid_argument(text); }

void check_fits(std::string_view option, std::int64_t value, DType dtype) {
  const bool fits = dtype == DType::int64 || (dtype == DType::int32 && std::in_range<std::int32_t>(value)) ||
                    (dtype == DType::uint16 && std::in_range<std::uint16_t>(value));
  if (!fits) refuse(fmt::format("{}={} does not fit batches of {}: use dtype=\"int64\"", option, value, name(dtype)));
}

// A document's end that no token can be would be found nowhere, or, cut to fewer bits, at another token.
void check_eot(const TokenLoaderOptions& options, const TokenStream& stream) {
  if (options.documents != DocumentMode::eot) return;
  const std::string never = fmt::format("documents={}: no token of {} can be that", options.eot, stream.name());
  if (!holds_value(stream.dtype(), options.eot))
    refuse(fmt::format("{}: {} {}{}", never, stream.guessed() ? "they look like" : "they are", name(stream.dtype()),
                       stream.guessed() ? ", and if they are others: token_dtype=" : ""));
  if (!holds_value(options.dtype, options.eot)) refuse(fmt::format("{} in batches of {}", never, name(options.dtype)));
  if (options.vocabulary && options.eot >= *options.vocabulary)
    refuse(fmt::format("{} with a vocabulary of {}", never, *options.vocabulary));
}

void check(const TokenLoaderOptions& options) {
  if (options.paths.empty()) refuse("no path is given");
  if (options.block < 1 || options.block >= std::numeric_limits<std::int32_t>::max())
    refuse(fmt::format("block must be from 1 to 2^31 - 2, but it is {}", options.block));
  if (options.dtype != DType::int64 && options.dtype != DType::int32 && options.dtype != DType::uint16)
    refuse(fmt::format("dtype must be int64, int32 or uint16, but it is {}", name(options.dtype)));
  if (options.overlap < 0 || options.overlap > options.block)
    refuse(fmt::format("overlap must be from 0 to block ({}), but it is {}", options.block, options.overlap));
  if (options.vocabulary == std::uint64_t{0}) refuse("vocabulary must be at least 1");
  if (options.pack && options.documents == DocumentMode::none)
    refuse("pack=True needs to know where documents end: give documents= too");
  if (options.pack && options.overlap != 0) refuse("packed windows do not overlap");
  check_fits("pad", options.pad, options.dtype);
  if (options.ignore_index) check_fits("ignore_index", *options.ignore_index, options.dtype);
  if (options.ignore_index && options.documents == DocumentMode::none)
    refuse("ignore_index= marks targets of another document: give documents= too");
  if (options.split && !(options.split->fraction > 0 && options.split->fraction < 1))
    refuse(fmt::format("split must be at a fraction between 0 and 1, but it is {}", options.split->fraction));
  for (const auto& [begin, end] : options.skip)
    if (begin > end) refuse(fmt::format("skip: tokens {} to {} are no range", begin, end));
  const LoaderShare& share = options.share;
  if (share.batch < 1) refuse(fmt::format("batch must be at least 1, but it is {}", share.batch));
  if (share.batch > std::numeric_limits<std::int32_t>::max() / options.block)
    refuse(fmt::format("a batch of {} x {} tokens is too large", share.batch, options.block));
}

// The part of the stream that is asked for.
std::vector<TokenSpan> spans_of(const TokenSource& source, const TokenLoaderOptions& options) {
  std::vector<TokenSpan> spans{{0, source.stream.size()}};
  if (options.split) {
    const auto tokens = static_cast<double>(source.stream.size());
    auto cut = static_cast<std::uint64_t>(std::llround(tokens * options.split->fraction));
    if (source.documents && cut < source.stream.size())
      cut = source.documents->start(source.documents->document_of(cut));
    const bool train = options.split->part == TokenSplit::Part::train;
    spans = {train ? TokenSpan{0, cut} : TokenSpan{cut, source.stream.size()}};
  }
  std::vector<TokenSpan> holes;
  for (const auto& [begin, end] : options.skip) holes.push_back({begin, end});
  return without(std::move(spans), holes);
}

std::shared_ptr<const TokenSource> open_source(const TokenLoaderOptions& options) {
  auto source = std::make_shared<TokenSource>();
  source->stream = TokenStream::open(
      options.paths, {.dtype = options.token_dtype, .endian = options.token_endian, .vocabulary = options.vocabulary});
  check_eot(options, source->stream);
  if (options.documents == DocumentMode::index) {
    source->documents = source->stream.shards().front().row_tokens > 0 ? Documents::from_rows(source->stream)
                                                                       : Documents::from_index(source->stream);
  }
  if (options.documents == DocumentMode::eot && options.pack)
    source->documents = cached_documents(source->stream, options.eot);
  source->spans = spans_of(*source, options);
  if (options.pack) {
    source->documents = source->documents->within(source->spans);
    source->packing.emplace(*source->documents, static_cast<std::uint32_t>(options.block + 1));
  }
  return source;
}

WindowGrid make_grid(const TokenSource& source, const TokenLoaderOptions& options) {
  const auto window = static_cast<std::uint64_t>(options.block) + 1;
  GridOptions grid{window, window - static_cast<std::uint64_t>(options.overlap)};
  if (options.shuffle && options.moving) grid.moving_seed = options.seed;
  return WindowGrid(source.spans, grid);
}

std::uint64_t count_windows(const TokenSource& source, const TokenLoaderOptions& options) {
  if (source.packing) return source.packing->window_count();
  const std::uint64_t count = make_grid(source, options).count();
  if (count > 0) return count;
  std::uint64_t tokens = 0;
  for (const TokenSpan& span : source.spans) tokens = std::max(tokens, span.count());
  throw std::invalid_argument(fmt::format("{}: {} tokens are too few for one window of block + 1 = {}",
                                          source.stream.name(), tokens, options.block + 1));
}

// What the stream of samples depends on beside the data, for a state to be compared with.
std::string text_of(const TokenLoaderOptions& options, const TokenStream& stream) {
  std::string text = fmt::format("block={} overlap={} shuffle={}", options.block, options.overlap, options.shuffle);
  if (options.shuffle && !options.pack) text += fmt::format(" moving={}", options.moving);
  if (options.documents == DocumentMode::eot) text += fmt::format(" documents={}", options.eot);
  if (options.documents == DocumentMode::index) text += " documents=index";
  text += fmt::format(" pack={} token_dtype={}{}", options.pack, stream.endian() == Endian::big ? ">" : "",
                      name(stream.dtype()));
  if (options.split)
    text += fmt::format(" split={}:{}", options.split->part == TokenSplit::Part::train ? "train" : "val",
                        options.split->fraction);
  for (const auto& [begin, end] : options.skip) text += fmt::format(" skip={}:{}", begin, end);
  return text;
}

// The words that differ.
std::string difference(const std::string& text, const std::string& other) {
  std::string found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if ((" " + other + " ").find(" " + word + " ") == std::string::npos) found += (found.empty() ? "" : " ") + word;
    at = end + 1;
  }
  return found.empty() ? "nothing more" : found;
}

// Samples that are drawn at random have no epoch to end.
Schedule endless(const LoaderShare& share) {
  LoaderShare endless_share = share;
  endless_share.epochs.reset();
  return make_schedule(endless_share, std::uint64_t{1} << 62);
}

}  // namespace

class TokenLoaderImpl {
 public:
  explicit TokenLoaderImpl(const TokenLoaderOptions& options)
      : options_((check(options), options)),
        source_(open_source(options)),
        window_count_(count_windows(*source_, options)),
        text_(text_of(options, source_->stream)),
        epochs_(make_lane(false, 0, false)),
        sampled_(options.pack ? nullptr : make_lane(true, 0, false)) {}

  std::optional<TokenBatch> next() {
    const std::shared_ptr<Lane> lane = lane_of(epochs_);
    std::optional<Delivery> delivery = lane->stream.next();
    if (!delivery) return std::nullopt;
    return lane->maker->unpack(*delivery);
  }

  TokenBatch sample() {
    const std::shared_ptr<Lane> lane = lane_of(sampled_);
    if (!lane) throw std::invalid_argument("sample() draws windows anywhere, which packed documents do not have");
    return lane->maker->unpack(lane->stream.next().value());
  }

  void begin_loop() { lane_of(epochs_)->stream.begin_loop(); }
  std::optional<std::uint64_t> batches_left() const { return lane_of(epochs_)->stream.batches_left(); }
  std::optional<std::uint64_t> batches_a_loop() const {
    return make_schedule(options().share, window_count_).batches_left({});
  }
  StreamPlace place() const { return lane_of(epochs_)->stream.place(); }
  void seek(const StreamPlace& place) { lane_of(epochs_)->stream.seek(place.position, place.loop_ended); }

  std::vector<TokenOrigin> where(std::uint64_t step) const {
    const Schedule schedule = make_schedule(options().share, window_count_);
    return lane_of(epochs_)->maker->origins(schedule.step(schedule.after({}, step).position));
  }

  TokenLoaderState state(std::uint64_t ahead) {
    const std::shared_ptr<Lane> lane = lane_of(epochs_);
    const std::shared_ptr<Lane> random = lane_of(sampled_);
    TokenLoaderState state;
    state.data = data();
    const std::lock_guard lock(mutex_);
    state.seed = options_.seed;
    const StreamPlace place = lane->stream.place(ahead);
    state.position = place.position;
    state.loop_ended = place.loop_ended;
    state.sampled = random ? random->stream.place(0).position : 0;
    state.samples_per_epoch = window_count_;
    state.options = text_;
    return state;
  }

  void load(const TokenLoaderState& state) {
    if (state.options != text_) {
      throw std::invalid_argument(
          fmt::format("the state is of another stream of {}: it has {}, this loader {}. Use "
                      "the state's options, or begin anew without it.",
                      source_->stream.name(), difference(state.options, text_), difference(text_, state.options)));
    }
    check_same(state.data, data(), files());
    if (state.samples_per_epoch != window_count_) {
      throw DataChangedError(fmt::format("{}: the state is of {} windows an epoch, and there are {}",
                                         source_->stream.name(), state.samples_per_epoch, window_count_));
    }
    std::shared_ptr<Lane> ended, ended_random;  // after the lock is gone: they wait for reads in flight
    const std::lock_guard lock(mutex_);
    options_.seed = state.seed;
    ended = replace(epochs_, make_lane(false, state.position, state.loop_ended));
    if (sampled_) ended_random = replace(sampled_, make_lane(true, state.sampled, false));
  }

  void set_share(const LoaderShare& share) {
    TokenLoaderOptions changed = options();
    changed.share = share;
    check(changed);
    std::shared_ptr<Lane> ended, ended_random;
    const std::lock_guard lock(mutex_);
    options_ = changed;
    const StreamPlace place = epochs_->stream.place(0);
    ended = replace(epochs_, make_lane(false, place.position, place.loop_ended));
    if (sampled_) ended_random = replace(sampled_, make_lane(true, sampled_->stream.place(0).position, false));
  }

  void stop() {
    if (const auto lane = lane_of(epochs_)) lane->stream.stop();
    if (const auto lane = lane_of(sampled_)) lane->stream.stop();
  }

  LoaderStats stats() const {
    const std::lock_guard lock(mutex_);
    LoaderStats sum = past_;
    add(sum, epochs_->stream.stats());
    if (sampled_) add(sum, sampled_->stream.stats());
    return sum;
  }

  const TokenSource& source() const { return *source_; }
  std::uint64_t window_count() const { return window_count_; }
  TokenLoaderOptions options() const {
    const std::lock_guard lock(mutex_);
    return options_;
  }

 private:
  struct Lane {
    std::shared_ptr<TokenBatches> maker;
    BatchStream stream;
    Lane(std::shared_ptr<TokenBatches> made, const Schedule& schedule)
        : maker(made), stream(std::move(made), schedule) {}
  };

  std::shared_ptr<Lane> make_lane(bool sampled, std::uint64_t position, bool loop_ended) const {
    TokenFormat format;
    format.block = static_cast<std::uint64_t>(options_.block);
    format.batch = static_cast<std::uint64_t>(options_.share.batch);
    format.dtype = options_.dtype;
    format.vocabulary = options_.vocabulary;
    format.marks = options_.documents != DocumentMode::none;
    if (options_.documents == DocumentMode::eot) format.eot = options_.eot;
    format.pad = options_.pad;
    format.ignore_index = options_.ignore_index;
    format.pin = options_.pin;
    const WindowGrid grid = sampled ? WindowGrid(source_->spans, {format.block + 1, 1}) : make_grid(*source_, options_);
    const Sampler sampler = sampled ? Sampler(Sampler::Kind::sampled, grid.count(), options_.seed)
                                    : Sampler(options_.shuffle ? Sampler::Kind::shuffled : Sampler::Kind::sequential,
                                              window_count_, options_.seed);
    const Schedule schedule = sampled ? endless(options_.share) : make_schedule(options_.share, window_count_);
    auto lane = std::make_shared<Lane>(std::make_shared<TokenBatches>(source_, grid, sampler, format), schedule);
    lane->stream.seek(position, loop_ended);
    return lane;
  }

  std::shared_ptr<Lane> lane_of(const std::shared_ptr<Lane>& lane) const {
    const std::lock_guard lock(mutex_);
    return lane;
  }

  std::shared_ptr<Lane> replace(std::shared_ptr<Lane>& lane, std::shared_ptr<Lane> by) {
    add(past_, lane->stream.stats());
    past_.held_bytes = past_.pinned_bytes = 0;
    return std::exchange(lane, std::move(by));
  }

  std::vector<std::shared_ptr<io::File>> files() const {
    std::vector<std::shared_ptr<io::File>> all;
    for (const Shard& shard : source_->stream.shards()) {
      all.push_back(shard.file);
      if (shard.index) all.push_back(shard.index);
    }
    return all;
  }

  // Read once: while the loader has them open, files that change are an error of their own.
  DataFingerprint data() {
    {
      const std::lock_guard lock(mutex_);
      if (data_) return *data_;
    }
    const DataFingerprint found = fingerprint(files());
    const std::lock_guard lock(mutex_);
    data_ = found;
    return found;
  }

  mutable ForkMutex mutex_{
      ForkRank::loader};  // guards options_, past_, data_ and which lanes there are; never held across a wait
  TokenLoaderOptions options_;
  std::shared_ptr<const TokenSource> source_;
  std::uint64_t window_count_;
  std::string text_;  // of the options that decide the stream
  LoaderStats past_;
  std::shared_ptr<Lane> epochs_, sampled_;
  std::optional<DataFingerprint> data_;
};

TokenLoader::TokenLoader(const TokenLoaderOptions& options) : impl_(std::make_unique<TokenLoaderImpl>(options)) {}
TokenLoader::TokenLoader(TokenLoader&&) noexcept = default;
TokenLoader& TokenLoader::operator=(TokenLoader&&) noexcept = default;
TokenLoader::~TokenLoader() = default;

std::optional<TokenBatch> TokenLoader::next() { return impl_->next(); }
TokenBatch TokenLoader::sample() { return impl_->sample(); }
void TokenLoader::begin_loop() { impl_->begin_loop(); }
std::optional<std::uint64_t> TokenLoader::batches_left() const { return impl_->batches_left(); }
std::optional<std::uint64_t> TokenLoader::batches_a_loop() const { return impl_->batches_a_loop(); }
StreamPlace TokenLoader::place() const { return impl_->place(); }
void TokenLoader::seek(const StreamPlace& place) { impl_->seek(place); }
std::vector<TokenOrigin> TokenLoader::where(std::uint64_t step) const { return impl_->where(step); }
TokenLoaderState TokenLoader::state(std::uint64_t ahead) const { return impl_->state(ahead); }
void TokenLoader::load(const TokenLoaderState& state) { impl_->load(state); }
void TokenLoader::set_share(const LoaderShare& share) { impl_->set_share(share); }
void TokenLoader::stop() { impl_->stop(); }
std::uint64_t TokenLoader::tokens() const { return impl_->source().stream.size(); }
DType TokenLoader::token_dtype() const { return impl_->source().stream.dtype(); }
std::string TokenLoader::name() const { return impl_->source().stream.name(); }
std::uint64_t TokenLoader::samples_per_epoch() const { return impl_->window_count(); }
LoaderStats TokenLoader::stats() const { return impl_->stats(); }
TokenLoaderOptions TokenLoader::options() const { return impl_->options(); }

std::vector<std::string> TokenLoader::files() const {
  std::vector<std::string> paths;
  for (const Shard& shard : impl_->source().stream.shards()) paths.push_back(shard.file->path());
  return paths;
}

std::optional<PackingReport> TokenLoader::packing() const {
  const TokenSource& source = impl_->source();
  if (!source.packing) return std::nullopt;
  return PackingReport{source.documents->count(), source.packing->cut_count(), source.packing->window_count(),
                       source.packing->waste()};
}

}  // namespace lowtide
