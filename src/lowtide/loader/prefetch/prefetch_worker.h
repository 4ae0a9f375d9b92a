// The work behind a prefetcher: plans batches, keeps their reads in flight, and puts what is finished in line.
//
//   worker.run();          // until the state says stop
//
// Not thread-safe: runs on the prefetcher's thread, or on the consumer's where there is none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lowtide/loader/order/schedule.h"
#include "lowtide/loader/prefetch/prefetch_state.h"
#include "lowtide/loader/prefetch/reads.h"

namespace lowtide {

class PrefetchWorker final : public ReadReceiver {
 public:
  PrefetchWorker(std::shared_ptr<PrefetchState> state, std::shared_ptr<BatchMaker> maker, const Schedule& schedule,
                 std::uint64_t position);

  // Until the state says stop; what cannot be blamed on one batch is left in the state for the consumer.
  void run() noexcept;
  // Does something; false if there is nothing to do, or no memory to do it in.
  bool advance();

 private:
  using Place = PrefetchState::Place;

  bool begin_batch();
  Block block_for(std::uint64_t bytes);
  void put_in_line(Block block);
  void sleep();
  void mark_ready(const Batch& batch, std::exception_ptr error);
  void set_reading(bool reading);
  void tell_consumer();  // REQUIRES: lock held
  void arrived(Batch& batch, const Piece& piece, std::uint64_t at, std::span<const std::byte> bytes) override;
  void complete(Batch& batch) override;
  void failed(Batch& batch, std::exception_ptr error) override;

  std::shared_ptr<PrefetchState> state_;
  std::shared_ptr<BatchMaker> maker_;
  Schedule schedule_;
  std::uint64_t position_;
  std::unique_ptr<Place> planned_;  // and not in line yet, for want of memory
  std::uint64_t planned_bytes_ = 0;
  bool failed_ = false;  // nothing is begun behind a batch that failed
  Reads reads_;
};

}  // namespace lowtide
