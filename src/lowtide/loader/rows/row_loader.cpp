#include "lowtide/row_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "lowtide/base/fork.h"
#include "lowtide/budget.h"
#include "lowtide/error.h"
#include "lowtide/loader/fingerprint.h"
#include "lowtide/loader/rows/row_batches.h"
#include "lowtide/loader/rows/row_feed.h"
#include "lowtide/loader/rows/row_table.h"
#include "lowtide/loader/rows/shuffle_plan.h"
#include "lowtide/loader/rows/window_feed.h"

namespace lowtide {
namespace {

ShuffleReport plan_of(const RowTable& table, const RowLoaderOptions& options) {
  (void)make_schedule(options.share, table.row_count());  // without rows there is nothing to plan
  return plan_shuffle(table, {options.shuffle, options.window_rows}, budget());
}

ShuffleReport plan_of(const RowTable& table, const RowLoaderState& state) {
  if (state.shuffle != Shuffle::windowed) return plan_shuffle(table, {state.shuffle, 0}, budget());
  return describe_windows(
      {table.row_count(), state.run_rows, state.window_rows, state.seed},
      fmt::format("as in the state: {} rows in runs of {} are mixed at a time", state.window_rows, state.run_rows));
}

}  // namespace

class RowLoaderImpl {
 public:
  RowLoaderImpl(const std::vector<RowColumn>& columns, const RowLoaderOptions& options)
      : table_(std::make_shared<const RowTable>(columns)),
        options_(options),
        shuffle_(plan_of(*table_, options)),
        feed_(make_feed(options, shuffle_, {})) {}

  std::optional<RowBatch> next() { return feed()->next(); }

  void begin_loop() { feed()->begin_loop(); }
  std::optional<std::uint64_t> batches_left() const { return feed()->batches_left(); }
  std::optional<std::uint64_t> batches_a_loop() const {
    return make_schedule(options().share, table_->row_count()).batches_left({});
  }

  RowLoaderState state(std::uint64_t ahead) {
    RowLoaderState state;
    state.data = data();
    const std::lock_guard lock(mutex_);
    const StreamPlace place = feed_->place(ahead);
    state.seed = options_.seed;
    state.position = place.position;
    state.loop_ended = place.loop_ended;
    state.row_count = table_->row_count();
    state.run_rows = shuffle_.run_rows;
    state.window_rows = shuffle_.window_rows;
    state.shuffle = shuffle_.kind;
    return state;
  }

  void load(const RowLoaderState& state) {
    if (state.row_count != table_->row_count()) {
      throw DataChangedError(fmt::format("{}: the state is of {} rows, and there are {}", table_->name(),
                                         state.row_count, table_->row_count()));
    }
    if (state.shuffle == Shuffle::automatic) throw std::invalid_argument("a state has the shuffle that was chosen");
    check_same(state.data, data(), table_->files());
    RowLoaderOptions changed = options();
    changed.seed = state.seed;
    change(changed, same_order(state) ? shuffle() : plan_of(*table_, state),
           StreamPlace{state.position, state.loop_ended});
  }

  StreamPlace place() const { return feed()->place(); }
  void seek(const StreamPlace& place) { change(options(), shuffle(), place); }

  void set_share(const LoaderShare& share) {
    RowLoaderOptions changed = options();
    changed.share = share;
    change(changed, shuffle(), feed()->place());
  }

  void stop() { feed()->stop(); }

  LoaderStats stats() const {
    const std::lock_guard lock(mutex_);
    LoaderStats sum = past_;
    add(sum, feed_->stats());
    return sum;
  }

  std::uint64_t row_count() const { return table_->row_count(); }
  ShuffleReport shuffle() const {
    const std::lock_guard lock(mutex_);
    return shuffle_;
  }
  RowLoaderOptions options() const {
    const std::lock_guard lock(mutex_);
    return options_;
  }

 private:
  std::shared_ptr<RowFeed> make_feed(const RowLoaderOptions& options, const ShuffleReport& shuffle,
                                     const StreamPlace& place) const {
    const Schedule schedule = make_schedule(options.share, table_->row_count());
    if (shuffle.kind == Shuffle::windowed) {
      const WindowOrder order({table_->row_count(), shuffle.run_rows, shuffle.window_rows, options.seed});
      return std::make_shared<WindowFeed>(table_, order, schedule, place);
    }
    const Sampler::Kind kind = shuffle.kind == Shuffle::none ? Sampler::Kind::sequential : Sampler::Kind::shuffled;
    const Sampler sampler(kind, table_->row_count(), options.seed);
    return std::make_shared<DirectFeed>(std::make_shared<RowBatches>(table_, sampler, schedule, options.pin), schedule,
                                        place);
  }

  // Refuses before anything is changed.
  void change(const RowLoaderOptions& options, const ShuffleReport& shuffle, const StreamPlace& place) {
    const std::shared_ptr<RowFeed> by = make_feed(options, shuffle, place);
    const std::shared_ptr<RowFeed> now = feed();
    now->stop();
    by->check_budget();
    const std::lock_guard lock(mutex_);
    add(past_, now->stats());
    past_.held_bytes = past_.pinned_bytes = 0;
    options_ = options;
    shuffle_ = shuffle;
    feed_ = by;
  }

  bool same_order(const RowLoaderState& state) const {
    const std::lock_guard lock(mutex_);
    return state.shuffle == shuffle_.kind && state.run_rows == shuffle_.run_rows &&
           state.window_rows == shuffle_.window_rows;
  }

  std::shared_ptr<RowFeed> feed() const {
    const std::lock_guard lock(mutex_);
    return feed_;
  }

  // Read once: while the loader has them open, files that change are an error of their own.
  DataFingerprint data() {
    {
      const std::lock_guard lock(mutex_);
      if (data_) return *data_;
    }
    const DataFingerprint found = fingerprint(table_->files());
    const std::lock_guard lock(mutex_);
    data_ = found;
    return found;
  }

  std::shared_ptr<const RowTable> table_;
  mutable ForkMutex mutex_{ForkRank::loader};  // guards what is below; never held across a wait
  RowLoaderOptions options_;
  ShuffleReport shuffle_;
  LoaderStats past_;  // of feeds that are gone
  std::shared_ptr<RowFeed> feed_;
  std::optional<DataFingerprint> data_;
};

RowLoader::RowLoader(std::vector<RowColumn> columns, const RowLoaderOptions& options)
    : impl_(std::make_unique<RowLoaderImpl>(columns, options)) {}
RowLoader::RowLoader(RowLoader&&) noexcept = default;
RowLoader& RowLoader::operator=(RowLoader&&) noexcept = default;
RowLoader::~RowLoader() = default;

std::optional<RowBatch> RowLoader::next() { return impl_->next(); }
void RowLoader::begin_loop() { impl_->begin_loop(); }
std::optional<std::uint64_t> RowLoader::batches_left() const { return impl_->batches_left(); }
std::optional<std::uint64_t> RowLoader::batches_a_loop() const { return impl_->batches_a_loop(); }
RowLoaderState RowLoader::state(std::uint64_t ahead) const { return impl_->state(ahead); }
void RowLoader::load(const RowLoaderState& state) { impl_->load(state); }
StreamPlace RowLoader::place() const { return impl_->place(); }
void RowLoader::seek(const StreamPlace& place) { impl_->seek(place); }
void RowLoader::set_share(const LoaderShare& share) { impl_->set_share(share); }
void RowLoader::stop() { impl_->stop(); }
std::uint64_t RowLoader::row_count() const { return impl_->row_count(); }
ShuffleReport RowLoader::shuffle() const { return impl_->shuffle(); }
LoaderStats RowLoader::stats() const { return impl_->stats(); }
RowLoaderOptions RowLoader::options() const { return impl_->options(); }

}  // namespace lowtide
