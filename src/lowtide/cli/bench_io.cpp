// lowtide bench io: what this disk does in each IO mode, on a file that is there, and what lowtide chooses.
#include <fmt/format.h>

#include <cstdlib>

#include "lowtide/base/units.h"
#include "lowtide/cli/disk_speed.h"
#include "lowtide/cli/failure.h"
#include "lowtide/cli/io_choice.h"
#include "lowtide/cli/json.h"
#include "lowtide/cli/session.h"
#include "lowtide/cli/terminal.h"

namespace lowtide::cli {
namespace {

struct Row {
  io::Mode mode;
  std::string refusal;  // empty if it was measured
  Speed sequential, random;
};

Json json_of(const Speed& speed) {
  return {{"mib_per_s", speed.mib_per_s()}, {"iops", speed.iops()}, {"bytes", speed.bytes}, {"seconds", speed.seconds}};
}

Json json_of(const Row& row) {
  Json json = {{"mode", io::name(row.mode)}, {"works", row.refusal.empty()}};
  if (!row.refusal.empty()) {
    json["reason"] = row.refusal;
    return json;
  }
  json["sequential_1mib"] = json_of(row.sequential);
  json["random_4kib"] = json_of(row.random);
  return json;
}

void print_header(const ColdFile& cold) {
  const Style style(stdout);
  std::puts(fmt::format("{}  {}", style.bold(cold.path), format_bytes(cold.bytes)).c_str());
  if (!cold.note.empty()) std::puts(fmt::format("  {}", cold.note).c_str());
  std::puts(style.dim(fmt::format("  {:<10} {:>22} {:>22}", "mode", "sequential 1 MiB", "random 4 KiB")).c_str());
}

void print_row(const Row& row, bool chosen) {
  std::string line = fmt::format("  {:<10} ", io::name(row.mode));
  line += row.refusal.empty()
              ? fmt::format("{:>16.0f} MiB/s {:>17.0f} IOPS", row.sequential.mib_per_s(), row.random.iops())
              : "not available: " + row.refusal;
  if (chosen) line += "  <- chosen";
  std::puts(line.c_str());
  std::fflush(stdout);
}

Row measure(const std::string& path, io::Mode mode, const ColdFile& cold, double seconds) {
  const ModeTrial trial = try_mode(path, mode);
  if (!trial.file) return {mode, trial.refusal, {}, {}};
  return {mode, "", measure_sequential(*trial.file, cold, seconds), measure_random(*trial.file, cold, seconds)};
}

Exit bench_io(const SharedOptions& options, const std::string& path, double seconds) {
  const auto file = io::File::open(path, io::Access::read);
  if (file->size_bytes() < least_bench_bytes)
    throw UsageError(
        fmt::format("{} has {}: too little to measure a disk with", path, format_bytes(file->size_bytes())),
        "give a file of at least 1 MiB, better of more than 1 GiB");
  const ColdFile cold = make_cold(*file);
  const bool show = !options.json && !options.quiet;
  if (show) print_header(cold);
  Json modes = Json::array();
  for (const io::Mode mode : all_modes) {
    const Row row = measure(path, mode, cold, seconds);
    if (show) print_row(row, mode == file->mode());
    modes.push_back(json_of(row));
  }
  if (options.json) {
    print_json({{"path", path},
                {"file_bytes", cold.bytes},
                {"note", cold.note},
                {"in_memory", cold.in_memory},
                {"modes", std::move(modes)},
                {"chosen", {{"mode", io::name(file->mode())}, {"reason", reason_for(*file)}}}});
  } else if (show) {
    Fields fields;
    fields.add("chosen", fmt::format("{}: {}; {}", io::name(file->mode()), describe(file->mode()), reason_for(*file)));
    fields.print();
  }
  return Exit::fine;
}

}  // namespace

void add_bench(CLI::App& app, Session& session) {
  CLI::App* bench = app.add_subcommand("bench", "Measure this machine: `lowtide bench io PATH`.");
  bench->require_subcommand(1);
  bench->footer("Example:\n  lowtide bench io x.npy\n");
  CLI::App* verb = add_verb(*bench, session,
                            {"io", "What this disk does in each IO mode, on a file that is only read.",
                             "lowtide bench io x.npy --seconds 3"});
  auto path = std::make_shared<std::string>();
  auto seconds = std::make_shared<double>(1);
  is_path(verb->add_option("PATH", *path, "A file of at least 1 MiB, better of more than 1 GiB"))
      ->required()
      ->type_name("");
  verb->add_option("--seconds", *seconds, "For each of the figures; 1 by default")
      ->check([](const std::string& text) {
        return std::strtod(text.c_str(), nullptr) > 0 ? "" : text + " is not a time in seconds";
      })
      ->type_name("N");
  verb->callback([=, &session] { session.run = [=, &session] { return bench_io(session.options, *path, *seconds); }; });
}

}  // namespace lowtide::cli
