// lowtide info: what a file holds, where its bytes are, and what it takes to read it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "lowtide/budget.h"
#include "lowtide/cli/failure.h"
#include "lowtide/cli/input.h"
#include "lowtide/cli/io_choice.h"
#include "lowtide/cli/json.h"
#include "lowtide/cli/session.h"
#include "lowtide/cli/terminal.h"
#include "lowtide/cli/token_info.h"
#include "lowtide/io/page_cache.h"
#include "lowtide/source/file_source.h"

namespace lowtide::cli {
namespace {

constexpr std::uint64_t cache_page_bytes = 4096;

struct Cached {
  bool known = false;
  std::uint64_t bytes = 0, dirty_bytes = 0;
};

Cached cached_of(io::File& file) {
  const io::File::Pin pin = file.pin();
  io::CacheCount count;
  if (!io::count_cached(file.fd(), 0, 0, count)) return {};
  return {true, std::min(count.cached_pages * cache_page_bytes, file.size_bytes()),
          std::min(count.dirty_pages * cache_page_bytes, file.size_bytes())};
}

Json json_of(const Cached& cached) {
  if (!cached.known) return nullptr;
  return {{"bytes", cached.bytes}, {"dirty_bytes", cached.dirty_bytes}};
}

std::string text_of(const Cached& cached, std::uint64_t file_bytes) {
  if (!cached.known) return "not known: this kernel has no cachestat (Linux 6.5)";
  const double percent =
      file_bytes == 0 ? 0 : 100 * static_cast<double>(cached.bytes) / static_cast<double>(file_bytes);
  std::string text = fmt::format("{} ({:.0f}%)", format_bytes(cached.bytes), percent);
  if (cached.dirty_bytes > 0) text += fmt::format(", {} not yet on disk", format_bytes(cached.dirty_bytes));
  return text;
}

std::string bytes_exactly(std::uint64_t bytes) {
  return bytes < 1024 ? format_bytes(bytes) : fmt::format("{} ({} bytes)", format_bytes(bytes), bytes);
}

void add_io(Json& json, Fields& fields, io::File& file) {
  const Cached cached = cached_of(file);
  json["page_cache"] = json_of(cached);
  json["io_mode"] = io::name(file.mode());
  json["io_reason"] = reason_for(file);
  fields.add("page cache", text_of(cached, file.size_bytes()));
  fields.add("IO mode", fmt::format("{}: {}; {}", io::name(file.mode()), describe(file.mode()), reason_for(file)));
}

// An array: all of it is known.
void describe_array(const std::string& path, const RawOptions& raw, const SharedOptions& options, Json& json,
                    Fields& fields) {
  const Array array = open_input(path, raw);
  const FileSource& source = *array.source()->in_one_file();
  io::File& file = source.file();
  const std::uint64_t data_end = array.data_offset() + array.size_bytes();
  const std::uint64_t trailing_bytes = file.size_bytes() - data_end;
  std::string format(array.format());
  if (format == "npy") format += " " + look_at(path).version;
  json["format"] = array.format();
  json["shape"] = array.shape();
  json["dtype"] = lowtide::name(array.dtype());
  json["order"] = name(array.order());
  json["endian"] = name(array.endian());
  json["size"] = array.size();
  json["data_bytes"] = array.size_bytes();
  json["data_offset"] = array.data_offset();
  json["trailing_bytes"] = trailing_bytes;
  json["file_bytes"] = file.size_bytes();
  json["least_budget_bytes"] = array.least_budget_bytes();

  fields.add("format", format);
  fields.add("shape", tuple(array.shape()));
  fields.add("dtype", fmt::format("{}, {}-endian", lowtide::name(array.dtype()), name(array.endian())));
  fields.add("order", name(array.order()));
  fields.add("data", fmt::format("{} from byte {}", bytes_exactly(array.size_bytes()), array.data_offset()));
  if (trailing_bytes > 0) fields.add("trailing", bytes_exactly(trailing_bytes) + " that the shape does not reach");
  add_io(json, fields, file);
  fields.add("least budget", fmt::format("{} to stream it by rows", format_bytes(array.least_budget_bytes())));
  if (options.verbose) {
    fields.add("budget now", fmt::format("{}: {}", format_bytes(budget()), budget_source()));
    fields.add("file", bytes_exactly(file.size_bytes()));
    fields.add("strides", tuple(source.layout().strides_bytes()) + " bytes");
  }
}

// A file without a header that we know: what its size allows, and how to go on.
void describe_unknown(const std::string& path, const FirstLook& look, Json& json, Fields& fields) {
  const std::vector<std::string> dtypes = dividing_dtypes(look.file_bytes);
  const std::string hint = fmt::format("lowtide info {} --dtype uint16", shell_quoted(path));
  json["format"] = nullptr;
  json["file_bytes"] = look.file_bytes;
  json["dividing_dtypes"] = dtypes;
  json["hint"] = hint;

  fields.add("format", "no header that lowtide knows; bare numbers?");
  fields.add("size", bytes_exactly(look.file_bytes));
  fields.add("dtypes", dtypes.size() == dtype_count
                           ? "the size is a whole number of elements of any dtype"
                           : fmt::format("the size is a whole number of {}", fmt::join(dtypes, ", ")));
  add_io(json, fields, *io::File::open(path, io::Access::read));
  fields.add("open it", hint);
  fields.add("", "lowtide.open(path, dtype=\"uint16\") in Python");
  fields.add("", fmt::format("lowtide info {} --tokens, if they are a tokenizer's", shell_quoted(path)));
}

void describe(const std::string& path, const RawOptions& raw, const TokenOptions& token_options,
              const SharedOptions& options, Json& json, Fields& fields) {
  if (token_options.scan || (!raw.given() && holds_tokens(path))) {
    const TokenStream stream = describe_tokens(path, raw, token_options, options, json, fields);
    if (stream.shards().size() == 1) add_io(json, fields, *stream.shards().front().file);
    return;
  }
  refuse_without_tokens(token_options);
  const FirstLook look = look_at(path);
  if (!look.format.empty() || raw.given()) {
    describe_array(path, raw, options, json, fields);
  } else {
    describe_unknown(path, look, json, fields);
  }
}

Exit info(const SharedOptions& options, const std::vector<std::string>& paths, const RawOptions& raw,
          const TokenOptions& token_options) {
  Json files = Json::array();
  Exit exit = Exit::fine;
  const Style style(stdout);
  for (const std::string& path : paths) {
    Json json = {{"path", path}};
    Fields fields;
    try {
      describe(path, raw, token_options, options, json, fields);
      if (!options.json && !options.quiet) {
        std::puts(style.bold(path).c_str());
        fields.print();
      }
    } catch (...) {
      const Failure failure = current_failure();
      if (failure.exit == Exit::wrong_use) throw;
      print_failure(failure);
      json = {{"path", path}, {"error", {{"kind", failure.kind}, {"message", failure.message}}}};
      exit = Exit::problem;
    }
    files.push_back(std::move(json));
  }
  if (options.json) print_json({{"files", std::move(files)}});
  return exit;
}

}  // namespace

void add_info(CLI::App& app, Session& session) {
  CLI::App* verb = add_verb(app, session,
                            {"info", "What files hold, what is cached, how they are read.",
                             "lowtide info x.npy\nlowtide info tokens.bin --dtype uint16\n"
                             "lowtide info train.bin --tokens --eot 50256 --block 1024"});
  auto paths = std::make_shared<std::vector<std::string>>();
  is_path(verb->add_option("PATH", *paths, "Files"))->required()->type_name("");
  auto raw = add_raw_options(verb, {.dtype = "--dtype", .order = "--order"});
  auto tokens = add_token_options(verb);
  verb->callback(
      [=, &session] { session.run = [=, &session] { return info(session.options, *paths, *raw, *tokens); }; });
}

}  // namespace lowtide::cli
