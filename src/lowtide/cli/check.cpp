// lowtide check: the header, the size, and every byte of the data.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "lowtide/budget.h"
#include "lowtide/cli/failure.h"
#include "lowtide/cli/input.h"
#include "lowtide/cli/json.h"
#include "lowtide/cli/progress_bar.h"
#include "lowtide/cli/session.h"
#include "lowtide/cli/terminal.h"
#include "lowtide/formats/npy/npy.h"
#include "lowtide/io/transfer.h"
#include "lowtide/kernels/byteswap.h"
#include "lowtide/kernels/crc32c.h"
#include "lowtide/kernels/odd_values.h"
#include "lowtide/memory/block.h"
#include "lowtide/source/file_source.h"

namespace lowtide::cli {
namespace {

struct Findings {
  std::vector<Failure> problems;
  std::optional<Array> array;  // none if the header is bad
  std::optional<std::uint32_t> checksum;
  OddValues odd;
  double seconds = 0;

  void add_problem(std::string message, std::string hint = "") {
    problems.push_back({"FormatError", std::move(message), std::move(hint), Exit::problem});
  }
};

// The data as one row after the other of single elements: any shape and order can be streamed, in file order, in little memory.
Array flattened(const Array& array) {
  return open(
      array.path(),
      {.dtype = array.dtype(), .shape = Shape{array.size()}, .offset = array.data_offset(), .endian = array.endian()});
}

bool another_npy_at(io::File& file, std::uint64_t offset) {
  const io::File::Pin pin = file.pin();
  const std::uint64_t begin = round_down(offset, io::direct_align);
  const std::uint64_t wanted = std::min<std::uint64_t>(offset - begin + npy::prefix_bytes, file.size_bytes() - begin);
  const Block block = Block::allocate(Budget::process().take(2 * io::direct_align, Purpose::staging, "check"));
  io::read_fully(file, block.data(), begin, 2 * io::direct_align, wanted);
  return npy::sniff(std::span(block.data() + (offset - begin), wanted - (offset - begin)));
}

void check_size(Findings& found) {
  const Array& array = *found.array;
  io::File& file = array.source()->in_one_file()->file();
  const std::uint64_t data_end = array.data_offset() + array.size_bytes();
  const std::uint64_t trailing_bytes = file.size_bytes() - data_end;
  if (trailing_bytes == 0 || array.format() != "npy") return;  // a raw file's shape is the user's choice
  const std::string where = fmt::format("{}: {} after the end of the data", array.path(),
                                        trailing_bytes == 1 ? "1 byte" : fmt::format("{} bytes", trailing_bytes));
  if (another_npy_at(file, data_end)) {
    found.add_problem(
        where + " begin with another npy header: several arrays were saved into one file",
        fmt::format("NumPy reads them one by one with np.load(f) on an open file; the first ends at byte {}",
                    data_end));
  } else {
    found.add_problem(
        where + ", which readers ignore: an append that was not finished, or two files in one",
        fmt::format("if the shape is right, cut it: truncate -s {} {}", data_end, shell_quoted(array.path())));
  }
}

void check_data(Findings& found, const SharedOptions& options) {
  const Array array = flattened(*found.array);
  ProgressBar bar(options, array.path());
  std::uint32_t sum = 0;
  std::uint64_t done_bytes = 0;
  if (array.size() > 0) {
    for (const RowBlock& block : array.blocks()) {
      const Buffer& buffer = block.buffer;
      found.odd.count(buffer.data(), buffer.dtype(), static_cast<std::uint64_t>(buffer.size()));
      // The sum is of the bytes as they are in the file, so that other tools agree.
      if (array.endian() != native_endian)
        byteswap(buffer.data(), array.dtype(), static_cast<std::size_t>(buffer.size()));
      sum = crc32c(buffer.data(), buffer.size_bytes(), sum);
      done_bytes += buffer.size_bytes();
      bar.show(done_bytes, array.size_bytes());
    }
  }
  found.checksum = sum;
  found.seconds = bar.seconds();
  if (found.odd.bad_bool_count > 0)
    found.add_problem(
        fmt::format("{}: {} of {} booleans are neither 0 nor 1", array.path(), found.odd.bad_bool_count, array.size()));
}

Findings check_file(const std::string& path, const RawOptions& raw, const SharedOptions& options) {
  Findings found;
  try {
    found.array = open_input(path, raw);
    check_size(found);
    check_data(found, options);
  } catch (...) {
    found.problems.push_back(current_failure());
    if (found.problems.back().exit == Exit::wrong_use) throw;
  }
  return found;
}

Json json_of(const std::string& path, const Findings& found) {
  Json json = {{"path", path}, {"ok", found.problems.empty()}, {"problems", Json::array()}};
  for (const Failure& problem : found.problems)
    json["problems"].push_back({{"kind", problem.kind}, {"message", problem.message}});
  if (!found.array) return json;
  const Array& array = *found.array;
  json["format"] = array.format();
  json["shape"] = array.shape();
  json["dtype"] = lowtide::name(array.dtype());
  json["data_bytes"] = array.size_bytes();
  json["crc32c"] = found.checksum ? Json(fmt::format("{:08x}", *found.checksum)) : Json();
  if (found.checksum && has_nan(array.dtype())) {
    json["nan_count"] = found.odd.nan_count;
    json["inf_count"] = found.odd.inf_count;
  }
  json["seconds"] = found.seconds;
  return json;
}

void print(const std::string& path, const Findings& found, const SharedOptions& options) {
  const Style style(stdout);
  const bool ok = found.problems.empty();
  std::puts(fmt::format("{}  {}", style.bold(path), ok ? style.green("ok") : style.red("bad")).c_str());
  if (!found.array) return;
  const Array& array = *found.array;
  Fields fields;
  fields.add("array", fmt::format("{}, {} {}", array.format(), lowtide::name(array.dtype()), tuple(array.shape())));
  if (found.checksum) {
    fields.add("crc32c", fmt::format("{:08x} of {} from byte {}", *found.checksum, format_bytes(array.size_bytes()),
                                     array.data_offset()));
    if (has_nan(array.dtype()))
      fields.add("values", fmt::format("{} NaN, {} infinite", found.odd.nan_count, found.odd.inf_count));
    fields.add("read", format_pace(array.size_bytes(), found.seconds));
  }
  if (options.verbose) {
    const Usage used = usage();
    fields.add("memory", fmt::format("{} held at most, of a budget of {}", format_bytes(used.peak_bytes),
                                     format_bytes(used.limit_bytes)));
  }
  fields.print();
}

Exit check(const SharedOptions& options, const std::vector<std::string>& paths, const RawOptions& raw) {
  Json files = Json::array();
  Exit exit = Exit::fine;
  for (const std::string& path : paths) {
    const Findings found = check_file(path, raw, options);
    if (!found.problems.empty()) exit = Exit::problem;
    if (!options.json && !options.quiet) print(path, found, options);
    std::fflush(stdout);
    for (const Failure& problem : found.problems) print_failure(problem);
    files.push_back(json_of(path, found));
  }
  if (options.json) print_json({{"files", std::move(files)}});
  return exit;
}

}  // namespace

void add_check(CLI::App& app, Session& session) {
  CLI::App* verb = add_verb(app, session,
                            {"check", "Read every byte: header, size, checksum, NaN count.",
                             "lowtide check x.npy y.npy\nlowtide check tokens.bin --dtype uint16 --json"});
  auto paths = std::make_shared<std::vector<std::string>>();
  is_path(verb->add_option("PATH", *paths, "Files"))->required()->type_name("");
  auto raw = add_raw_options(verb, {.dtype = "--dtype", .order = "--order"});
  verb->callback([=, &session] { session.run = [=, &session] { return check(session.options, *paths, *raw); }; });
}

}  // namespace lowtide::cli
