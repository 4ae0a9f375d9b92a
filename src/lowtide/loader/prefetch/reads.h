// Scattered ranges of many files, read with many requests in flight: those of one batch sorted and merged, those of several batches
// at once.
//
//   Reads reads(memory, slot_bytes, mode, receiver);
//   reads.add(batch);                        // its pieces wait for slots
//   while (!reads.idle()) { reads.start(); reads.settle(); }
//
// The receiver is told of every part of a piece as it arrives, and once of every batch: that all of it is there, or why not.
//
// Not thread-safe. Blocks: settle(), until one request at least has come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "lowtide/loader/prefetch/batch.h"
#include "lowtide/transfer/driver.h"

namespace lowtide {

class ReadReceiver {
 public:
  virtual ~ReadReceiver() = default;
  virtual void arrived(Batch& batch, const Piece& piece, std::uint64_t at, std::span<const std::byte> bytes) = 0;
  virtual void complete(Batch& batch) = 0;
  virtual void failed(Batch& batch, std::exception_ptr error) = 0;
};

class Reads {
 public:
  struct Options {
    std::span<std::byte> memory;  // whole slots, aligned for direct IO
    std::uint64_t slot_bytes = 0;
    io::Mode mode = io::Mode::buffered;
    bool maps = true;  // whether wholly cached files are worth a map: they are few
  };
  static std::uint64_t slot_bytes_for(std::uint64_t read_bytes);
  static constexpr std::size_t most_slots = 128;

  Reads(const Options& options, ReadReceiver& receiver);

  void add(Batch& batch);  // REQUIRES: it stays where it is until it is complete or failed
  void start();
  void settle() { driver_.settle(); }
  bool waiting() const { return !waiting_.empty(); }
  bool idle() const { return waiting_.empty() && driver_.in_flight() == 0; }

 private:
  // A piece, or as much of it as fits a slot.
  struct Part {
    io::File* file;
    std::uint64_t offset, bytes;
    std::size_t piece;
    std::uint64_t at;
  };
  struct Job {
    Batch* batch = nullptr;
    std::vector<Part> parts;  // by file and offset
    std::size_t started = 0;
    std::size_t in_flight = 0;  // extents
    std::exception_ptr error;
  };
  Extent next_extent(const Job& job) const;
  void start_extent(Job& job);
  void copy_warm(Job& job);
  void arrived(const Arrival& arrival);
  void end_if_done(Job& job);
  void check_files(const Job& job);

  std::span<std::byte> memory_;
  std::uint64_t slot_bytes_;
  bool maps_;
  ReadReceiver& receiver_;
  std::deque<std::unique_ptr<Job>> jobs_;
  std::deque<Job*> waiting_;  // with parts that have not been started
  Driver driver_;
};

}  // namespace lowtide
