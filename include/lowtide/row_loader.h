// Batches of rows of one or several arrays, shuffled, gathered and made ahead within the budget.
//
//   lowtide::RowLoader loader({lowtide::open("x.npy"), lowtide::open("y.npy")}, {.share = {.batch = 256, .epochs = 1}});
//   while (auto batch = loader.next()) train(batch->columns[0], batch->columns[1]);
//
// Rows of all arrays go together. Variable-length records are a one-dimensional array of values and an array of offsets, one more
// than there are records: record i is values[offsets[i] … offsets[i + 1]].
//
// Thread-safe: every member; next() by one thread at a time, others wait. Blocks for the disk, interruptible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/array.h"
#include "lowtide/loader.h"

namespace lowtide {

struct RowColumn {
  Array values;
  std::optional<Array> offsets = {};  // int64; of variable-length records
};

enum class Shuffle : std::uint8_t {
  none,
  automatic,  // global, unless rows are so small that a read each would drown the disk
  global,     // any row may follow any other
  windowed,   // runs of rows in a global order, several of them mixed at a time
};

struct RowLoaderOptions {
  LoaderShare share = {};
  std::uint64_t seed = 0;
  Shuffle shuffle = Shuffle::automatic;
  std::uint64_t window_rows = 0;  // of a windowed shuffle; 0: from the budget
  bool pin = false;  // batches in memory that a GPU copies from directly, where CUDA is there; not of a windowed one
};

// How well a windowed shuffle mixes.
struct ShuffleReport {
  Shuffle kind = Shuffle::none;   // none, global or windowed
  std::string reason;             // why, in words
  std::uint64_t run_rows = 1;     // rows that are read together
  std::uint64_t window_rows = 0;  // rows that are mixed together; all of them in a global shuffle
  double same_run = 0,
         ideal_same_run = 0;  // the odds that the next row is from the same run, and those in a global shuffle
};

struct RowBatch {
  std::vector<Buffer> columns;      // (rows, …), or all records' values one after the other
  std::vector<Buffer> offsets;      // (rows + 1,) int64 for records, else empty
  std::vector<std::uint64_t> rows;  // which rows of the arrays these are
};

struct RowLoaderState {
  std::uint64_t seed = 0;
  std::uint64_t position = 0;
  bool loop_ended = false;
  std::uint64_t row_count = 0;
  std::uint64_t run_rows = 1, window_rows = 0;  // the shuffle's: the order depends on them
  Shuffle shuffle = Shuffle::none;
  DataFingerprint data;
};

class RowLoaderImpl;

class RowLoader {
 public:
  RowLoader(std::vector<RowColumn> columns, const RowLoaderOptions& options);
  RowLoader(RowLoader&&) noexcept;
  RowLoader& operator=(RowLoader&&) noexcept;
  ~RowLoader();

  std::optional<RowBatch> next();  // nothing at the end of a loop; the call after that begins the next
  // A new loop: goes on where the last one stopped, and behind its end if all its batches were taken.
  void begin_loop();
  std::optional<std::uint64_t> batches_left() const;  // of this loop; nothing if it never ends
  std::optional<std::uint64_t> batches_a_loop() const;
  RowLoaderState state(std::uint64_t ahead = 0) const;
  void load(const RowLoaderState& state);  // throws DataChangedError, naming the file, if the data is not the same
  StreamPlace place() const;
  void seek(const StreamPlace& place);  // whatever the data
  void set_share(const LoaderShare& share);
  void stop();

  std::uint64_t row_count() const;
  ShuffleReport shuffle() const;
  LoaderStats stats() const;
  RowLoaderOptions options() const;

 private:
  std::unique_ptr<RowLoaderImpl> impl_;
};

}  // namespace lowtide
