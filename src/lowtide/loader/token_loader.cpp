#include "lowtide/token_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "lowtide/error.h"
#include "lowtide/loader/batch_stream.h"
#include "lowtide/loader/fingerprint.h"
#include "lowtide/loader/token_batches.h"

namespace lowtide {
namespace {

void refuse(const std::string& text) { throw std::invalid_argument(text); }

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
  const LoaderShare& share = options.share;
  if (share.batch < 1) refuse(fmt::format("batch must be at least 1, but it is {}", share.batch));
  if (share.batch > std::numeric_limits<std::int32_t>::max() / options.block)
    refuse(fmt::format("a batch of {} x {} tokens is too large", share.batch, options.block));
}

std::shared_ptr<const TokenSource> open_source(const TokenLoaderOptions& options) {
  auto source = std::make_shared<TokenSource>();
  source->stream = TokenStream::open(options.paths, options.token_dtype);
  if (options.documents == DocumentMode::index) source->documents = Documents::from_index(source->stream);
  if (options.documents == DocumentMode::eot && options.pack)
    source->documents = Documents::from_eot(source->stream, options.eot);
  if (options.pack) source->packing.emplace(*source->documents, static_cast<std::uint32_t>(options.block + 1));
  return source;
}

std::uint64_t count_windows(const TokenSource& source, const TokenLoaderOptions& options) {
  if (source.packing) return source.packing->window_count();
  const std::uint64_t tokens = source.stream.size();
  const auto window = static_cast<std::uint64_t>(options.block) + 1;
  if (tokens < window) {
    throw std::invalid_argument(fmt::format("{}: {} tokens are too few for one window of block + 1 = {}",
                                            source.stream.name(), tokens, window));
  }
  return (tokens - window) / (window - static_cast<std::uint64_t>(options.overlap)) + 1;
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
    return state;
  }

  void load(const TokenLoaderState& state) {
    if (state.samples_per_epoch != window_count_) {
      throw DataChangedError(
          fmt::format("{}: the state is of {} windows an epoch, and there are {}: block, overlap or "
                      "packing differ, or the data does",
                      source_->stream.name(), state.samples_per_epoch, window_count_));
    }
    check_same(state.data, data(), files());
    const std::lock_guard lock(mutex_);
    options_.seed = state.seed;
    replace(epochs_, make_lane(false, state.position, state.loop_ended));
    if (sampled_) replace(sampled_, make_lane(true, state.sampled, false));
  }

  void set_share(const LoaderShare& share) {
    TokenLoaderOptions changed = options();
    changed.share = share;
    check(changed);
    const std::lock_guard lock(mutex_);
    options_ = changed;
    const StreamPlace place = epochs_->stream.place(0);
    replace(epochs_, make_lane(false, place.position, place.loop_ended));
    if (sampled_) replace(sampled_, make_lane(true, sampled_->stream.place(0).position, false));
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
    format.stride = sampled ? 1 : format.block + 1 - static_cast<std::uint64_t>(options_.overlap);
    format.dtype = options_.dtype;
    format.vocabulary = options_.vocabulary;
    format.marks = options_.documents != DocumentMode::none;
    if (options_.documents == DocumentMode::eot) format.eot = options_.eot;
    format.pad = options_.pad;
    format.pin = options_.pin;
    const std::uint64_t starts = source_->stream.size() - format.block;
    const Sampler sampler = sampled ? Sampler(Sampler::Kind::sampled, starts, options_.seed)
                                    : Sampler(options_.shuffle ? Sampler::Kind::shuffled : Sampler::Kind::sequential,
                                              window_count_, options_.seed);
    const Schedule schedule = sampled ? endless(options_.share) : make_schedule(options_.share, window_count_);
    auto lane = std::make_shared<Lane>(std::make_shared<TokenBatches>(source_, sampler, format), schedule);
    lane->stream.seek(position, loop_ended);
    return lane;
  }

  std::shared_ptr<Lane> lane_of(const std::shared_ptr<Lane>& lane) const {
    const std::lock_guard lock(mutex_);
    return lane;
  }

  void replace(std::shared_ptr<Lane>& lane, std::shared_ptr<Lane> by) {
    add(past_, lane->stream.stats());
    past_.held_bytes = past_.pinned_bytes = 0;
    lane = std::move(by);
  }

  std::vector<std::shared_ptr<io::File>> files() const {
    std::vector<std::shared_ptr<io::File>> all;
    for (const Shard& shard : source_->stream.shards()) all.push_back(shard.file);
    return all;
  }

  // Read once: while the loader has them open, files that change are an error of their own.
  DataFingerprint data() {
    const std::lock_guard lock(data_mutex_);
    if (!data_) data_ = fingerprint(files());
    return *data_;
  }

  mutable std::mutex mutex_;  // guards options_, past_ and which lanes there are
  TokenLoaderOptions options_;
  std::shared_ptr<const TokenSource> source_;
  std::uint64_t window_count_;
  LoaderStats past_;
  std::shared_ptr<Lane> epochs_, sampled_;
  std::mutex data_mutex_;
  std::optional<DataFingerprint> data_;
};

TokenLoader::TokenLoader(const TokenLoaderOptions& options) : impl_(std::make_unique<TokenLoaderImpl>(options)) {}
TokenLoader::TokenLoader(TokenLoader&&) noexcept = default;
TokenLoader& TokenLoader::operator=(TokenLoader&&) noexcept = default;
TokenLoader::~TokenLoader() = default;

std::optional<TokenBatch> TokenLoader::next() { return impl_->next(); }
TokenBatch TokenLoader::sample() { return impl_->sample(); }
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
