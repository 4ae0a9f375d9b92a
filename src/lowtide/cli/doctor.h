// What the verbs of `lowtide doctor` share: their options, and how each ends.
#pragma once

#include <string>

#include "lowtide/cli/session.h"
#include "lowtide/doctor/report/report.h"

namespace lowtide::cli {

struct DoctorOutput {
  std::string json_path, html_path;  // empty: none; "-" for standard output
  std::string limit;                 // a size; empty: the container's
};

void add_output_options(CLI::App* verb, DoctorOutput& output);
doctor::JudgeOptions judge_options(const DoctorOutput& output);
// Writes what was asked for, and the text to `stream` unless quiet. Throws IoError.
void report(const doctor::Timeline& timeline, const DoctorOutput& output, const SharedOptions& options,
            std::FILE* stream);

// One file a verb.
void add_doctor_run(CLI::App& doctor, Session& session);
void add_doctor_attach(CLI::App& doctor, Session& session);
void add_doctor_top(CLI::App& doctor, Session& session);
void add_doctor_explain(CLI::App& doctor, Session& session);
void add_doctor_machine(CLI::App& doctor, Session& session);
void add_doctor_compare(CLI::App& doctor, Session& session);
void add_doctor_diff(CLI::App& doctor, Session& session);

}  // namespace lowtide::cli
