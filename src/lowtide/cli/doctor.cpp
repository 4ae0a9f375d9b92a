// lowtide doctor: is it a leak, of what, where, and why only on this machine.
#include "lowtide/cli/doctor.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "lowtide/budget.h"
#include "lowtide/cli/terminal.h"
#include "lowtide/error.h"

namespace lowtide::cli {
namespace {

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fputs(text.c_str(), stdout);
    return;
  }
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.flush();
  if (!file) throw IoError(fmt::format("cannot write {}: {}", path, std::strerror(errno)), errno, path);
}

}  // namespace

void add_output_options(CLI::App* verb, DoctorOutput& output) {
  verb->add_option("--html", output.html_path, "Write the report as one HTML page")->type_name("FILE");
  verb->add_option("--limit", output.limit, "Say when this much is reached; the container's limit by default")
      ->type_name("SIZE");
}

doctor::JudgeOptions judge_options(const DoctorOutput& output) {
  return {output.limit.empty() ? 0 : parse_bytes(output.limit)};
}

void report(const doctor::Timeline& timeline, const DoctorOutput& output, const SharedOptions& options,
            std::FILE* stream) {
  const doctor::Verdict verdict = doctor::judge(timeline, judge_options(output));
  const std::string json = output.json_path.empty() && options.json ? "-" : output.json_path;
  if (!json.empty())
    write_text(
        json,
        doctor::json_report(verdict, timeline).dump(2, ' ', false, doctor::Json::error_handler_t::replace) + "\n");
  if (!output.html_path.empty()) write_text(output.html_path, doctor::html_report(verdict, timeline));
  if (options.quiet || json == "-") return;
  const bool terminal = is_terminal(stream);
  std::fputs(doctor::text_report(verdict,
                                 {terminal ? terminal_columns(stream) : 100, terminal && Style(stream).bold("") != ""})
                 .c_str(),
             stream);
}

void add_doctor(CLI::App& app, Session& session) {
  CLI::App* doctor = app.add_subcommand("doctor", "Is it a leak, of what, where, and why only here.");
  doctor->footer("Example:\n  lowtide doctor run -- python train.py\n");
  doctor->require_subcommand(1);
  add_doctor_run(*doctor, session);
  add_doctor_attach(*doctor, session);
  add_doctor_top(*doctor, session);
  add_doctor_explain(*doctor, session);
  add_doctor_machine(*doctor, session);
  add_doctor_compare(*doctor, session);
  add_doctor_diff(*doctor, session);
}

}  // namespace lowtide::cli
