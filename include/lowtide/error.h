// Every error that lowtide throws. One small hierarchy, translated once at each border.
//
//   try { auto x = lowtide::open("x.npy").read(); }
//   catch (const lowtide::BudgetError& e) { std::puts(e.what()); }   // says what to type
//
// Wrong arguments are std::invalid_argument (ValueError in Python), an index outside an array is std::out_of_range
// (IndexError): neither is a condition of memory, files or formats.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace lowtide {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The budget cannot pay for an operation. Thrown before any IO and before any output file exists.
class BudgetError : public Error {
 public:
  BudgetError(const std::string& message, std::uint64_t needed_bytes, std::uint64_t limit_bytes)
      : Error(message), needed_bytes_(needed_bytes), limit_bytes_(limit_bytes) {}
  std::uint64_t needed_bytes() const { return needed_bytes_; }
  std::uint64_t limit_bytes() const { return limit_bytes_; }

 private:
  std::uint64_t needed_bytes_;
  std::uint64_t limit_bytes_;
};

// A file's content is not what its format promises.
class FormatError : public Error {
 public:
  using Error::Error;
};

// The system refused or failed an operation on a file.
class IoError : public Error {
 public:
  IoError(const std::string& message, int code, std::string path, std::uint64_t offset = 0)
      : Error(message), code_(code), path_(std::move(path)), offset_(offset) {}
  int code() const { return code_; }  // errno
  const std::string& path() const { return path_; }
  std::uint64_t offset() const { return offset_; }  // byte in the file, 0 where none applies

 private:
  int code_;
  std::string path_;
  std::uint64_t offset_;
};

// A file changed under an open array: what was read before and what would be read now do not belong together.
class DataChangedError : public Error {
 public:
  using Error::Error;
};

// Well-formed, and not supported: says what is, or what to do instead.
class UnsupportedError : public Error {
 public:
  using Error::Error;
};

// An operation that is not defined for a dtype. TypeError in Python, where it is no lt.Error.
class TypeError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// The caller asked to stop (Ctrl-C, or a cancel hook).
class CancelledError : public Error {
 public:
  using Error::Error;
};

}  // namespace lowtide
