#include "lowtide/loader/prefetch/prefetch.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "lowtide/base/interrupt.h"
#include "lowtide/loader/prefetch/prefetch_state.h"
#include "lowtide/loader/prefetch/prefetch_worker.h"

namespace lowtide {
namespace {

class Waiting {
 public:
  explicit Waiting(std::atomic<bool>& flag) : flag_(flag) { flag_ = true; }
  ~Waiting() { flag_ = false; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

Prefetch::Prefetch(std::shared_ptr<BatchMaker> maker, const Schedule& schedule, std::uint64_t position)
    : state_(std::make_shared<PrefetchState>(maker->traits())) {
  auto worker = std::make_unique<PrefetchWorker>(state_, std::move(maker), schedule, position);
  PrefetchWorker* const running = worker.get();
  try {
    thread_ = std::thread([running] {
      const OwnThread own;
      const std::unique_ptr<PrefetchWorker> mine(running);
      mine->run();
    });
    (void)worker.release();
  } catch (const std::system_error&) {
    worker_ = std::move(worker);
  }
}

Prefetch::~Prefetch() {
  std::vector<Block> unwanted;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    unwanted.swap(state_->kept);
    for (const Block& block : unwanted) state_->discount(block);
  }
  state_->work.notify_one();
  if (thread_.joinable()) thread_.join();
  worker_.reset();
  // Batches in the consumer's hands keep the state, but not what else was in it.
  const std::lock_guard lock(state_->mutex);
  for (const auto& place : state_->line) {
    state_->discount(place->batch.block);
    unwanted.push_back(std::move(place->batch.block));
  }
  state_->line.clear();
  unwanted.push_back(std::move(state_->staging));
}

std::optional<Delivery> Prefetch::next() {
  if (!wait_for_front()) return std::nullopt;
  std::unique_ptr<PrefetchState::Place> place;
  {
    const std::lock_guard lock(state_->mutex);
    place = std::move(state_->line.front());
    state_->line.pop_front();
    state_->line_bytes -= place->batch.block.size_bytes();
    const bool low = state_->line.size() <= state_->target / 2;
    if (state_->sleeping && low && state_->starved_bytes == 0) state_->work.notify_one();
  }
  Batch& batch = place->batch;
  Delivery delivery{batch.step, nullptr, batch.block.data(), std::move(batch.samples), std::move(batch.notes)};
  if (batch.block) delivery.owner = lend(state_, std::move(batch.block));
  if (place->error) {
    spent_ = true;
    std::rethrow_exception(place->error);
  }
  return delivery;
}

// The consumer pays for what the thread could not get without asking anyone: only here can the border's garbage be collected, and
// only here is there somebody to refuse.
void Prefetch::feed(std::uint64_t bytes) {
  Block block = Block::allocate(Budget::process().take(round_up(bytes, page_bytes), Purpose::read_ahead,
                                                       "one batch more than the consumer holds"));
  const std::lock_guard lock(state_->mutex);
  state_->count(block);
  state_->kept.push_back(std::move(block));
}

bool Prefetch::wait_for_front() {
  PrefetchState& s = *state_;
  std::unique_lock lock(s.mutex);
  const auto is_ready = [&] { return !s.line.empty() && s.line.front()->ready; };
  const auto starved = [&] { return s.line.empty() && s.starved_bytes > 0 && !s.has_block(s.starved_bytes); };
  if (is_ready()) return true;
  const auto start = std::chrono::steady_clock::now();
  if (s.reading) s.target = std::min(s.target * 2, s.most_ahead);
  const Waiting waiting(s.consumer_waits);
  while (!is_ready()) {
    if (s.broken) {
      spent_ = true;
      std::rethrow_exception(s.broken);
    }
    s.work.notify_one();
    const std::uint64_t needed_bytes = starved() ? s.starved_bytes : 0;
    const bool woken = worker_ == nullptr && needed_bytes == 0 &&
                       s.ready.wait_for(lock, std::chrono::milliseconds(interrupt_slice_ms),
                                        [&] { return is_ready() || starved() || s.broken; });
    if (woken) continue;
    lock.unlock();
    if (needed_bytes > 0) feed(needed_bytes);
    if (worker_) worker_->advance();
    interrupt_now();
    if (!here()) return false;
    lock.lock();
  }
  s.waited_on_disk_s += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return true;
}

PrefetchStats Prefetch::stats() const {
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t staging = state_->staging.size_bytes();
  return {state_->waited_on_disk_s, state_->waited_on_consumer_s, state_->held_bytes + staging,
          state_->peak_bytes + staging, state_->pinned_bytes};
}

void Prefetch::abandon(std::unique_ptr<Prefetch> parents) noexcept {
  (void)parents.release();  // the fork took its memory; what only its thread touched may be half changed
}

}  // namespace lowtide
