// A new array file, written piece by piece, that appears whole or not at all.
//
//   lowtide::Writer w = lowtide::create("y.npy", {.shape = {0, 3}, .dtype = DType::float32});
//   w.append(ConstView{…});        // rows at the end
//   w.close();                     // commit: synced, then named; without close() nothing appears
//
// Thread-safe: one call at a time writes, others wait for it; rows of one append() stay together. Blocks for the disk. A Writer whose
// write failed half-way never commits. A child of fork() cannot use its parent's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "lowtide/array.h"

namespace lowtide {

struct CreateOptions {
  Shape shape = {};
  DType dtype = DType::float64;
  Order order = Order::c;
  std::optional<std::string> format = {};  // "npy" or "raw"; by default from the name: .npy, else raw
  bool overwrite = false;
};

class WriterState;

class Writer {
 public:
  explicit Writer(std::unique_ptr<WriterState> state);
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();

  Shape shape() const;
  DType dtype() const;
  std::string path() const;
  void assign(std::span<const Index> indices, const ConstView& values);
  void append(const ConstView& rows);  // grows axis 0; C order only
  void close();                        // commit
  void discard();
  bool closed() const;

 private:
  std::unique_ptr<WriterState> state_;
};

Writer create(const std::string& path, const CreateOptions& options);

struct SaveOptions {
  std::optional<DType> dtype = {};  // cast on the way, as NumPy's astype
  std::optional<Order> order = {};  // the file's; C by default
  std::optional<std::string> format = {};
  bool overwrite = false;
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> progress = {};
};

// Streams an array into a new file.
void save(const std::string& path, const Array& array, const SaveOptions& options = {});
void save(const std::string& path, const ConstView& values, const SaveOptions& options = {});

}  // namespace lowtide
