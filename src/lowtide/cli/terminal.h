// Text for people: aligned fields, wrapped to the terminal, in colour where that is wanted.
//
//   Fields fields;
//   fields.add("shape", "(1000, 200)");
//   fields.add("IO mode", "threads: io_uring: Operation not permitted");
//   fields.print();
//
// Colour only on a terminal, and not with NO_COLOR or TERM=dumb. Without a terminal nothing is wrapped: one field a line.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lowtide::cli {

bool is_terminal(std::FILE* stream);
// Columns of a terminal, 80 where it does not say.
std::size_t terminal_columns(std::FILE* stream);

class Style {
 public:
  explicit Style(std::FILE* stream);
  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string red(std::string_view text) const { return wrap("31", text); }
  std::string green(std::string_view text) const { return wrap("32", text); }

 private:
  std::string wrap(std::string_view code, std::string_view text) const;
  bool on_;
};

class Fields {
 public:
  void add(std::string label, std::string value) { rows_.emplace_back(std::move(label), std::move(value)); }
  void print() const;  // to standard output, indented by two

 private:
  std::vector<std::pair<std::string, std::string>> rows_;
};

}  // namespace lowtide::cli
