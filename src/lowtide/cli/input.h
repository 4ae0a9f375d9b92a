// A file given on the command line: what its first bytes say, and what the user says where it has no header.
//
//   auto raw = add_raw_options(verb, {.dtype = "--dtype", .order = "--order"});
//   Array a = open_input("t.bin", *raw);          // HintedFormatError, with the command to type, if nothing says what it holds
//
// Not thread-safe. Blocks for the disk.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lowtide/array.h"

namespace lowtide::cli {

// As typed; empty where not given.
struct RawOptions {
  std::string dtype, shape, offset, order;
  std::string dtype_flag;  // how this verb spells it, for hints
  bool given() const { return !dtype.empty() || !shape.empty() || !offset.empty() || !order.empty(); }
};
struct RawFlags {
  std::string dtype, order;
};
std::shared_ptr<RawOptions> add_raw_options(CLI::App* verb, const RawFlags& flags);

// Throw UsageError. A dtype may begin with > for big-endian; a shape is "100,200", "(100, 200)" or "100x200".
Shape parse_shape(const std::string& text);
Order parse_order(const std::string& text);
DType parse_dtype_option(const std::string& text);

// What can be told without opening the file as an array.
struct FirstLook {
  std::uint64_t file_bytes = 0;
  std::string format;   // "npy", "llm.c", "litpkds", "megatron" (an .idx), …, or empty: no header that lowtide knows
  std::string version;  // of the npy header: "1.0"
  bool opens = false;   // as an array
};
// Throws FormatError for a token file that is not whole.
FirstLook look_at(const std::string& path);

Array open_input(const std::string& path, const RawOptions& raw);
// The dtypes whose size divides the file, by name.
std::vector<std::string> dividing_dtypes(std::uint64_t file_bytes);

// "(3, 4)", "(3,)", "()"
std::string tuple(const Shape& shape);
// "C", "F"
std::string name(Order order);
std::string name(Endian endian);
// The path as a shell takes it.
std::string shell_quoted(const std::string& path);

}  // namespace lowtide::cli
