#include "lowtide/loader/prefetch/batch_stream.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lowtide {

void add(LoaderStats& sum, const LoaderStats& stats) {
  sum.batch_count += stats.batch_count;
  sum.sample_count += stats.sample_count;
  sum.elapsed_s += stats.elapsed_s;
  sum.waited_on_disk_s += stats.waited_on_disk_s;
  sum.waited_on_consumer_s += stats.waited_on_consumer_s;
  sum.held_bytes += stats.held_bytes;
  sum.pinned_bytes += stats.pinned_bytes;
  sum.peak_bytes = std::max(sum.peak_bytes, stats.peak_bytes);
}

BatchStream::~BatchStream() { drop(); }

std::optional<Delivery> BatchStream::next() {
  const Turn::Held mine = turn_.take("the next batch of a loader");
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(place_.loop_ended, false)) return std::nullopt;
    if (last_batch_ == std::chrono::steady_clock::time_point{}) last_batch_ = std::chrono::steady_clock::now();
  }
  try {
    while (true) {
      if (std::optional<Delivery> delivery = running().next()) return hand_out(std::move(*delivery));
    }
  } catch (...) {
    if (prefetch_ && prefetch_->spent()) drop();
    throw;
  }
}

Prefetch& BatchStream::running() {
  if (prefetch_ && !prefetch_->here()) drop();
  if (!prefetch_) {
    auto made = std::make_unique<Prefetch>(maker_, schedule_, place_.position);
    const std::lock_guard lock(mutex_);
    prefetch_ = std::move(made);
  }
  return *prefetch_;
}

std::optional<Delivery> BatchStream::hand_out(Delivery delivery) {
  const std::lock_guard lock(mutex_);
  place_.position = delivery.step.next;
  const std::uint64_t count = delivery.step.end - delivery.step.begin;
  if (count == 0) return std::nullopt;  // this rank has no part in the end of the loop
  place_.loop_ended = delivery.step.ends_loop;
  ++past_.batch_count;
  past_.sample_count += count;
  const auto now = std::chrono::steady_clock::now();
  past_.elapsed_s += std::chrono::duration<double>(now - last_batch_).count();
  last_batch_ = now;
  return delivery;
}

void BatchStream::drop() noexcept {
  std::unique_ptr<Prefetch> dropped;  // ended after the lock is gone: it waits for reads in flight
  {
    const std::lock_guard lock(mutex_);
    dropped = std::move(prefetch_);
    if (!dropped) return;
    if (dropped->here()) {
      const PrefetchStats stats = dropped->stats();
      past_.waited_on_disk_s += stats.waited_on_disk_s;
      past_.waited_on_consumer_s += stats.waited_on_consumer_s;
      past_.peak_bytes = std::max(past_.peak_bytes, stats.peak_bytes);
      return;
    }
  }
  Prefetch::abandon(std::move(dropped));
}

void BatchStream::seek(std::uint64_t position, bool loop_ended) {
  const Turn::Held mine = turn_.take("moving a loader to another place");
  drop();
  const std::lock_guard lock(mutex_);
  place_ = {position, loop_ended};
}

void BatchStream::begin_loop() {
  const Turn::Held mine = turn_.take("a new loop of a loader");
  const StreamPlace now = place();
  const StreamPlace begin = schedule_.loop_begin(now);
  if (begin.position != now.position) drop();
  const std::lock_guard lock(mutex_);
  place_ = begin;
}

std::optional<std::uint64_t> BatchStream::batches_left() const {
  const std::lock_guard lock(mutex_);
  return schedule_.batches_left(place_);
}

void BatchStream::stop() {
  const Turn::Held mine = turn_.take("stopping a loader");
  drop();
}

StreamPlace BatchStream::place(std::uint64_t ahead) const {
  const std::lock_guard lock(mutex_);
  return schedule_.after(place_, ahead);
}

LoaderStats BatchStream::stats() const {
  const std::lock_guard lock(mutex_);
  LoaderStats sum = past_;
  if (!prefetch_ || !prefetch_->here()) return sum;
  const PrefetchStats now = prefetch_->stats();
  sum.waited_on_disk_s += now.waited_on_disk_s;
  sum.waited_on_consumer_s += now.waited_on_consumer_s;
  sum.held_bytes = now.held_bytes;
  sum.pinned_bytes = now.pinned_bytes;
  sum.peak_bytes = std::max(sum.peak_bytes, now.peak_bytes);
  return sum;
}

}  // namespace lowtide
