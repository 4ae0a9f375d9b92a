#include "lowtide/loader/prefetch/prefetch_worker.h"

#include <chrono>

namespace lowtide {

PrefetchWorker::PrefetchWorker(std::shared_ptr<PrefetchState> state, std::shared_ptr<BatchMaker> maker,
                               const Schedule& schedule, std::uint64_t position)
    : state_(std::move(state)),
      maker_(std::move(maker)),
      schedule_(schedule),
      position_(position),
      reads_({.memory = {state_->staging.data(), static_cast<std::size_t>(state_->slots_bytes)},
              .slot_bytes = state_->slot_bytes,
              .mode = maker_->traits().mode,
              .maps = maker_->traits().file_count <= 16},
             *this) {}

void PrefetchWorker::run() noexcept {
  const auto stopped = [&] {
    const std::lock_guard lock(state_->mutex);
    return state_->stop;
  };
  try {
    while (!stopped()) {
      if (!advance()) sleep();
    }
  } catch (...) {
    const std::lock_guard lock(state_->mutex);
    state_->broken = std::current_exception();
    state_->ready.notify_one();
  }
}

bool PrefetchWorker::advance() {
  reads_.start();
  if (!reads_.waiting() && begin_batch()) return true;
  if (reads_.idle()) return false;
  set_reading(true);
  reads_.settle();
  set_reading(false);
  return true;
}

bool PrefetchWorker::begin_batch() {
  if (failed_) return false;
  if (!planned_) {
    {
      const std::lock_guard lock(state_->mutex);
      if (!state_->has_room()) return false;
    }
    planned_ = std::make_unique<Place>();
    Batch& batch = planned_->batch;
    batch.step = schedule_.step(position_);
    planned_bytes_ = 0;
    try {
      if (batch.step.begin < batch.step.end) planned_bytes_ = maker_->plan(batch);
    } catch (...) {
      planned_->error = std::current_exception();
    }
    position_ = batch.step.next;
  }
  Block block;
  if (planned_bytes_ > 0 && !planned_->error && !(block = block_for(planned_bytes_))) return false;
  put_in_line(std::move(block));
  return true;
}

Block PrefetchWorker::block_for(std::uint64_t bytes) {
  {
    Block too_small;
    const std::lock_guard lock(state_->mutex);
    if (Block block = state_->reuse(bytes)) return block;
    if (!state_->kept.empty()) {
      too_small = std::move(state_->kept.front());
      state_->kept.erase(state_->kept.begin());
      state_->discount(too_small);
    }
  }
  Lease lease = Budget::process().try_take(round_up(bytes, page_bytes), Purpose::read_ahead);
  if (!lease) {
    const std::lock_guard lock(state_->mutex);
    state_->starved_bytes = bytes;
    if (state_->consumer_waits) state_->ready.notify_one();  // to pay for it, or be told that it cannot
    return {};
  }
  Block block = Block::allocate(std::move(lease));
  const std::lock_guard lock(state_->mutex);
  state_->count(block);
  return block;
}

void PrefetchWorker::put_in_line(Block block) {
  Place& place = *planned_;
  {
    const std::lock_guard lock(state_->mutex);
    state_->starved_bytes = 0;
    state_->line_bytes += block.size_bytes();
    place.batch.block = std::move(block);
    state_->line.push_back(std::move(planned_));
  }
  if (place.error) {
    failed(place.batch, place.error);
  } else if (place.batch.step.begin == place.batch.step.end) {
    mark_ready(place.batch, nullptr);
  } else {
    reads_.add(place.batch);
  }
}

void PrefetchWorker::sleep() {
  std::unique_lock lock(state_->mutex);
  const auto start = std::chrono::steady_clock::now();
  PrefetchState& s = *state_;
  // Woken when half of what it may make is gone, rather than for every batch: each wake costs the consumer a system call.
  const auto awake = [&] {
    if (s.stop) return true;
    if (failed_) return false;
    if (s.starved_bytes > 0) return s.has_block(s.starved_bytes);
    return s.has_room() && (s.consumer_waits || s.line.size() <= s.target / 2);
  };
  tell_consumer();
  s.sleeping = true;
  s.work.wait(lock, awake);
  s.sleeping = false;
  s.waited_on_consumer_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void PrefetchWorker::arrived(Batch& batch, const Piece& piece, std::uint64_t at, std::span<const std::byte> bytes) {
  maker_->place(batch, piece, at, bytes);
}

void PrefetchWorker::complete(Batch& batch) {
  try {
    maker_->finish(batch);
  } catch (...) {
    failed(batch, std::current_exception());
    return;
  }
  mark_ready(batch, nullptr);
}

void PrefetchWorker::failed(Batch& batch, std::exception_ptr error) {
  failed_ = true;
  mark_ready(batch, std::move(error));
}

void PrefetchWorker::mark_ready(const Batch& batch, std::exception_ptr error) {
  const std::lock_guard lock(state_->mutex);
  std::size_t before = 0;
  for (const auto& place : state_->line) {
    if (&place->batch != &batch) {
      before += place->ready ? 1 : 0;
      continue;
    }
    place->error = std::move(error);
    place->ready = true;
    break;
  }
  // To wake the consumer for each of a quick succession would cost more than it saves: the rest is told before this thread waits.
  if (before + 1 >= state_->target / 2) tell_consumer();
}

void PrefetchWorker::tell_consumer() {
  if (state_->consumer_waits && !state_->line.empty() && state_->line.front()->ready) state_->ready.notify_one();
}

void PrefetchWorker::set_reading(bool reading) {
  const std::lock_guard lock(state_->mutex);
  state_->reading = reading;
  if (reading) tell_consumer();
}

}  // namespace lowtide
