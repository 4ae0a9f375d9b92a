#include "lowtide/io/queue.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <new>

#include "lowtide/base/fault.h"
#include "lowtide/base/interrupt.h"
#include "lowtide/error.h"

namespace lowtide::io {
namespace {

constexpr std::uint32_t max_retries = 1000;  // EAGAIN without progress, a slice apart at the worst

}  // namespace

Queue::Queue(Mode mode) : ring_(mode == Mode::uring) {
  if (ring_) backend_ = take_uring();
  if (!backend_) {
    ring_ = false;
    backend_ = make_pool_backend();
  }
}

Queue::~Queue() {
  if (!made_.here()) {
    backend_.release();  // the parent's: its ring and threads are not here
    broken_.release();
    return;
  }
  drain();
  if (ring_) give_uring(std::move(backend_));
}

void Queue::check_here() {
  if (made_.here()) return;
  in_flight_ = 0;
  throw Error("the process has forked since this began, and its requests are the parent's: begin again in the child");
}

void Queue::push(const Request& request) {
  check_here();
  assert(in_flight_ < max_depth);
  std::uint32_t slot;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot] = {request, 0, 0, 0};
  ++in_flight_;
  submit(slot);
}

void Queue::submit(std::uint32_t slot) {
  const Slot& s = slots_[slot];
  if (const int error = fault::at(fault::Stage::submit); error > 0) {
    done_.push_back({slot, -error});
    return;
  }
  try {
    backend_->submit(slot, {s.request.file, s.request.kind, s.request.memory + s.done_bytes,
                            s.request.offset + s.done_bytes, s.request.bytes - s.done_bytes});
  } catch (const std::bad_alloc&) {  // never in flight, so never waited for
    done_.push_back({slot, -ENOMEM});
  }
}

std::span<const Completion> Queue::wait() {
  completions_.clear();
  interrupt_point();  // a busy disk answers at once, again and again
  check_here();
  collect(0);
  while (completions_.empty() && in_flight_ > 0) {
    collect(interrupt_slice_ms);
    if (!completions_.empty()) break;
    interrupt_now();
    check_here();
  }
  return completions_;
}

std::span<const Completion> Queue::look() {
  completions_.clear();
  if (in_flight_ > 0 && made_.here()) collect(interrupt_slice_ms);
  return completions_;
}

void Queue::collect(int milliseconds) {
  for (const std::uint32_t slot : std::exchange(again_, {})) submit(slot);
  reap(done_.empty() ? milliseconds : 0);
  for (std::size_t i = 0; i < done_.size(); ++i) settle(done_[i].slot, done_[i].result);
  done_.clear();
}

// A ring that breaks is replaced by threads: they do the same requests, more slowly.
void Queue::reap(int milliseconds) {
  if (broken_) {
    broken_->reap(done_, done_.empty() ? std::min(milliseconds, 1) : 0);
    if (broken_->idle()) broken_.reset();
  }
  backend_->reap(done_, done_.empty() ? milliseconds : 0);
  if (!backend_->broken()) return;
  broken_ = std::exchange(backend_, make_pool_backend());
  ring_ = false;
}

void Queue::settle(std::uint32_t slot, std::int64_t result) {
  if (const int error = fault::at(fault::Stage::complete); error > 0) {
    result = -error;
  } else if (error == fault::give_short && result > static_cast<std::int64_t>(direct_align)) {
    result = static_cast<std::int64_t>(direct_align);
  }
  Slot& s = slots_[slot];
  // ECANCELED: the thread that submitted it is gone, the queue is not.
  if (result == -EINTR || result == -EAGAIN || result == -ECANCELED) {
    if (++s.retries > max_retries) return finish(slot, s.done_bytes, EAGAIN);
    again_.push_back(slot);
    return;
  }
  if (result < 0) return finish(slot, s.done_bytes, static_cast<int>(-result));
  const std::uint32_t before = s.done_bytes;
  s.done_bytes += static_cast<std::uint32_t>(result);
  if (s.done_bytes == s.request.bytes) return finish(slot, s.done_bytes, 0);
  const bool reading = s.request.kind == Request::Kind::read;
  if (reading && s.done_bytes >= s.request.least_bytes) return finish(slot, s.done_bytes, 0);
  // Direct requests go on from a whole unit. An answer without one is a quirk once, and the end of the file three times.
  if (is_direct(s.request.file->mode())) s.done_bytes -= s.done_bytes % direct_align;
  s.stalls = s.done_bytes > before ? 0 : s.stalls + 1;
  if (s.stalls >= 3) return finish(slot, s.done_bytes, reading ? end_of_file : ENOSPC);
  again_.push_back(slot);
}

void Queue::finish(std::uint32_t slot, std::uint32_t bytes, int error) {
  completions_.push_back({slots_[slot].request.tag, bytes, error});
  free_slots_.push_back(slot);
  --in_flight_;
}

void Queue::drain() noexcept {
  if (!made_.here()) return;
  // Nothing is retried and nobody is told: the memory must outlive the kernel's use of it, no more.
  in_flight_ -= again_.size();
  again_.clear();
  in_flight_ -= done_.size();
  done_.clear();
  while (in_flight_ > 0) {
    reap(interrupt_slice_ms);
    in_flight_ -= done_.size();
    done_.clear();
  }
  slots_.clear();
  free_slots_.clear();
}

}  // namespace lowtide::io
