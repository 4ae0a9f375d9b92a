// lowtide convert: an array file as another one, streamed; the new file appears whole or not at all.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <filesystem>

#include "lowtide/budget.h"
#include "lowtide/cli/failure.h"
#include "lowtide/cli/input.h"
#include "lowtide/cli/json.h"
#include "lowtide/cli/progress_bar.h"
#include "lowtide/cli/session.h"
#include "lowtide/cli/terminal.h"
#include "lowtide/writer.h"

namespace lowtide::cli {
namespace {

struct ConvertOptions {
  std::string in, out;
  std::string dtype, order, format;
  bool force = false;
};

SaveOptions save_options(const ConvertOptions& convert, const Array& in) {
  SaveOptions save;
  if (!convert.dtype.empty()) {
    if (convert.dtype.starts_with('>'))
      throw UsageError(fmt::format("--dtype {}: new files are little-endian", convert.dtype));
    save.dtype = parse_dtype_option(convert.dtype);
  }
  save.order = convert.order.empty() ? in.order() : parse_order(convert.order);
  if (!convert.format.empty()) save.format = convert.format;
  save.overwrite = convert.force;
  return save;
}

// A raw file says nothing about itself: the command that opens it, so that it can be kept.
std::string how_to_open(const std::string& path, const Array& in, const SaveOptions& save) {
  const Shape shape = in.shape();
  std::string text = fmt::format("lowtide info {} --dtype {} --shape {}", shell_quoted(path),
                                 lowtide::name(save.dtype.value_or(in.dtype())),
                                 shape.empty() ? "'()'" : fmt::format("{}", fmt::join(shape, ",")));
  if (save.order == Order::fortran && in.ndim() > 1) text += " --order F";
  return text;
}

Exit convert(const SharedOptions& options, const ConvertOptions& convert, const RawOptions& raw) {
  const Array in = open_input(convert.in, raw);
  SaveOptions save = save_options(convert, in);
  std::error_code ignored;
  if (!convert.force && std::filesystem::exists(convert.out, ignored))
    throw IoError(convert.out + " exists already", EEXIST, convert.out);

  double seconds = 0;
  {
    ProgressBar bar(options, convert.out);
    save.progress = [&](std::uint64_t done_bytes, std::uint64_t total_bytes) { bar.show(done_bytes, total_bytes); };
    lowtide::save(convert.out, in, save);
    seconds = bar.seconds();
  }

  const DType dtype = save.dtype.value_or(in.dtype());
  const std::string format = save.format.value_or(convert.out.ends_with(".npy") ? "npy" : "raw");
  const std::uint64_t out_bytes = static_cast<std::uint64_t>(in.size()) * itemsize(dtype);
  const Usage used = usage();
  if (options.json) {
    print_json({{"input",
                 {{"path", convert.in},
                  {"format", in.format()},
                  {"dtype", lowtide::name(in.dtype())},
                  {"order", name(in.order())},
                  {"data_bytes", in.size_bytes()}}},
                {"output",
                 {{"path", convert.out},
                  {"format", format},
                  {"dtype", lowtide::name(dtype)},
                  {"order", name(*save.order)},
                  {"data_bytes", out_bytes}}},
                {"shape", in.shape()},
                {"seconds", seconds},
                {"peak_held_bytes", used.peak_bytes},
                {"budget_bytes", used.limit_bytes}});
  } else if (!options.quiet) {
    std::puts(Style(stdout).bold(convert.out).c_str());
    Fields fields;
    fields.add("format",
               fmt::format("{}, {} {}, order {}", format, lowtide::name(dtype), tuple(in.shape()), name(*save.order)));
    fields.add("written", fmt::format("{} {}", format_bytes(out_bytes), format_pace(out_bytes, seconds)));
    fields.add("memory", fmt::format("{} held at most, of a budget of {}", format_bytes(used.peak_bytes),
                                     format_bytes(used.limit_bytes)));
    if (format == "raw") fields.add("open it", how_to_open(convert.out, in, save));
    fields.print();
  }
  return Exit::fine;
}

}  // namespace

void add_convert(CLI::App& app, Session& session) {
  CLI::App* verb = add_verb(app, session,
                            {"convert", "Between formats, dtypes and orders, within the budget.",
                             "lowtide convert x.npy x.bin --dtype float32\n"
                             "lowtide convert tokens.bin tokens.npy --in-dtype uint16 --shape -1,1024"});
  auto options = std::make_shared<ConvertOptions>();
  is_path(verb->add_option("IN", options->in, "File to read"))->required()->type_name("");
  is_path(verb->add_option("OUT", options->out, "File to write: npy if it ends in .npy, else raw"))
      ->required()
      ->type_name("");
  verb->add_option("--dtype", options->dtype, "Cast to this dtype, as NumPy's astype")->type_name("DTYPE");
  verb->add_option("--order", options->order, "Of the new file; the input's by default")->type_name("C|F");
  verb->add_option("--format", options->format, "Of the new file, whatever its name")
      ->check([](const std::string& text) {
        return text == "npy" || text == "raw" ? "" : text + " is neither npy nor raw";
      })
      ->type_name("npy|raw");
  verb->add_flag("--force", options->force, "Replace OUT if it exists");
  auto raw = add_raw_options(verb, {.dtype = "--in-dtype", .order = "--in-order"});
  verb->callback([=, &session] { session.run = [=, &session] { return convert(session.options, *options, *raw); }; });
}

}  // namespace lowtide::cli
