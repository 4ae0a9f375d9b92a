// What loaders of tokens and of rows have in common.
//
// A loader walks one stream of samples: epoch after epoch, each in an order that is a pure function of (seed, epoch, position). Ranks
// take turns at its front, so where a loader stands is one number, whatever the batch, the world or the threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lowtide {

// How a loader's samples are shared out.
struct LoaderShare {
  std::int64_t batch = 1;
  std::int64_t rank = 0, world = 1;
  std::int64_t worker = 0, worker_count = 1;  // processes that take a rank's batches in turn (torch's DataLoader)
  std::optional<std::int64_t> epochs = {};    // of a loop; without, it never ends
  bool drop_last = false;                     // leave out the end of a loop that is not a full batch for every rank
};

// Where whoever takes batches stands.
struct StreamPlace {
  std::uint64_t position = 0;  // samples taken from the stream, by all ranks together
  bool loop_ended = false;     // next() says so before it goes on
};

// A hash of samples of every file's content: the same data elsewhere has the same one.
struct DataFingerprint {
  std::uint64_t file_count = 0;
  std::uint64_t bytes = 0;
  std::string marks;  // hexadecimal, one mark a file, or for several neighbours where there are more than 64
  bool operator==(const DataFingerprint&) const = default;
};

struct LoaderStats {
  std::uint64_t batch_count = 0, sample_count = 0;
  double elapsed_s = 0;             // from the first call for a batch to the last batch
  double waited_on_disk_s = 0;      // the consumer, for batches
  double waited_on_consumer_s = 0;  // the thread, for room: time in which the disk was idle
  std::uint64_t held_bytes = 0, peak_bytes = 0;
  std::uint64_t pinned_bytes = 0;  // of those held now
};

}  // namespace lowtide
