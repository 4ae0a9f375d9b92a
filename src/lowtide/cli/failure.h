// Errors as the command line shows them: one line that says what is wrong, one that says what to type.
//
//   catch (...) { return report_failure(current_failure()); }
//
//   lowtide: y.npy exists already
//     hint: add --force to replace it
//
// Thread-safe: pure, except report_failure, which writes to standard error.
#pragma once

#include <stdexcept>
#include <string>

#include "lowtide/cli/session.h"
#include "lowtide/error.h"

namespace lowtide::cli {

// The command was typed wrongly: exit 2.
class UsageError : public std::invalid_argument {
 public:
  explicit UsageError(const std::string& message, std::string hint = "")
      : std::invalid_argument(message), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

// A bad file, with something to type that the library cannot know.
class HintedFormatError : public FormatError {
 public:
  HintedFormatError(const std::string& message, std::string hint) : FormatError(message), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

struct Failure {
  std::string kind;  // "BudgetError", "FormatError", …: the names of Python's errors
  std::string message;
  std::string hint;  // may be empty
  Exit exit = Exit::problem;
};

// REQUIRES: an exception is being handled. A cancellation is not a failure: it is thrown on.
Failure current_failure();
void print_failure(const Failure& failure);

}  // namespace lowtide::cli
