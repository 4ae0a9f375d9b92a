#include "lowtide/loader/batch_stream.h"

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

BatchStream::~BatchStream() {
  const std::lock_guard lock(mutex_);
  drop();
}

std::optional<Delivery> BatchStream::next() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(place_.loop_ended, false)) return std::nullopt;
  if (prefetch_ && !prefetch_->here()) drop();
  if (!prefetch_) prefetch_ = std::make_unique<Prefetch>(maker_, schedule_, place_.position);
  if (last_batch_ == std::chrono::steady_clock::time_point{}) last_batch_ = std::chrono::steady_clock::now();
  try {
    Delivery delivery = prefetch_->next();
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
  } catch (...) {
    if (prefetch_->spent()) drop();
    throw;
  }
}

void BatchStream::drop() noexcept {
  if (!prefetch_) return;
  if (!prefetch_->here()) {
    Prefetch::abandon(std::move(prefetch_));
    return;
  }
  const PrefetchStats stats = prefetch_->stats();
  past_.waited_on_disk_s += stats.waited_on_disk_s;
  past_.waited_on_consumer_s += stats.waited_on_consumer_s;
  past_.peak_bytes = std::max(past_.peak_bytes, stats.peak_bytes);
  prefetch_.reset();
}

void BatchStream::seek(std::uint64_t position, bool loop_ended) {
  const std::lock_guard lock(mutex_);
  drop();
  place_ = {position, loop_ended};
}

void BatchStream::stop() {
  const std::lock_guard lock(mutex_);
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
