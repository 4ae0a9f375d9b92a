#include "lowtide/formats/npy/dict_reader.h"

#include <fmt/format.h>

#include <optional>

#include "lowtide/base/checked.h"
#include "lowtide/error.h"

namespace lowtide::npy {
namespace {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  Reader(std::string_view text, const ReadOptions& options) : text_(text), options_(options) {}

  Dict read() {
    skip_blanks();
    expect('{');
    while (!take('}')) {
      read_pair();
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_blanks();
    if (at_ < text_.size()) fail("something after the closing brace");
    if (!descr_) fail_missing("descr");
    if (!fortran_order_) fail_missing("fortran_order");
    if (!shape_) fail_missing("shape");
    return {*descr_, *fortran_order_, std::move(*shape_)};
  }

 private:
  void read_pair() {
    const std::string_view key = read_string("a key");
    const bool duplicate =
        (key == "descr" && descr_) || (key == "fortran_order" && fortran_order_) || (key == "shape" && shape_);
    if (duplicate) fail(fmt::format("key '{}' a second time", key));
    expect(':');
    if (key == "descr") {
      descr_ = read_descr();
    } else if (key == "fortran_order") {
      fortran_order_ = read_bool();
    } else if (key == "shape") {
      shape_ = read_shape();
    } else {
      fail("a key other than descr, fortran_order and shape");
    }
  }

  std::string_view read_descr() {
    skip_blanks();
    if (peek() == '[' || peek() == '(') {
      throw UnsupportedError(fmt::format(
          "{}: structured and subarray dtypes are not supported: save each field as an array of its own, for example "
          "np.save(\"x.npy\", a[\"x\"])",
          options_.path));
    }
    return read_string("a dtype string");
  }

  bool read_bool() {
    skip_blanks();
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view word : {"True", "False"}) {
      if (!rest.starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    fail("expected True or False");
  }

  Shape read_shape() {
    Shape shape;
    expect('(');
    bool comma = true;  // before the first extent none is needed
    while (!take(')')) {
      if (!comma) fail("expected ',' or ')'");
      if (shape.size() == max_ndim) fail(fmt::format("more than {} dimensions", max_ndim));
      shape.push_back(read_extent());
      comma = take(',');
      if (!comma && shape.size() == 1) fail("expected ',': the shape must be a tuple");
    }
    return shape;
  }

  std::int64_t read_extent() {
    skip_blanks();
    if (peek() == '-') fail("a negative extent");
    const std::size_t begin = at_;
    std::optional<std::int64_t> value = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      value = checked_multiply<std::int64_t>(*value, 10);
      if (value) value = checked_add<std::int64_t>(*value, text_[at_] - '0');
      if (!value) fail("an extent larger than 2^63 - 1");
    }
    if (at_ == begin) fail("expected an extent");
    if (text_[begin] == '0' && at_ - begin > 1) fail("an extent with a leading zero");
    if (options_.allow_longs && peek() == 'L') ++at_;
    return *value;
  }

  std::string_view read_string(std::string_view what) {
    skip_blanks();
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail(fmt::format("expected {} in quotes", what));
    const std::size_t begin = ++at_;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\') fail("a backslash in a string");
      if (text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\0') fail("a string that does not end");
    }
    if (at_ == text_.size()) fail("a string that does not end");
    return text_.substr(begin, at_++ - begin);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(fmt::format("expected '{}'", c));
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw FormatError(
        fmt::format("{}: not a valid .npy header: {}, at character {} of {}", options_.path, what, at_, text_.size()));
  }
  [[noreturn]] void fail_missing(std::string_view key) const { fail(fmt::format("no key '{}'", key)); }

  std::string_view text_;
  const ReadOptions& options_;
  std::size_t at_ = 0;
  std::optional<std::string_view> descr_;
  std::optional<bool> fortran_order_;
  std::optional<Shape> shape_;
};

}  // namespace

Dict read_dict(std::string_view text, const ReadOptions& options) { return Reader(text, options).read(); }

}  // namespace lowtide::npy
