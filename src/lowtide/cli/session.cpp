#include "lowtide/cli/session.h"

namespace lowtide::cli {
namespace {

// "Example:" and its lines, indented as the option list is.
std::string footer_of(const std::string& example) {
  std::string text = "Example:\n  ";
  for (const char c : example) text += c == '\n' ? "\n  " : std::string(1, c);
  return text + "\n";
}

}  // namespace

CLI::App* add_verb(CLI::App& parent, Session& session, const VerbText& text) {
  CLI::App* verb = parent.add_subcommand(text.name, text.description);
  verb->footer(footer_of(text.example));
  verb->get_formatter()->column_width(26);
  SharedOptions& options = session.options;
  verb->add_flag("--json", options.json, "One JSON document on standard output");
  verb->add_option("--budget", options.budget, "Memory to hold at most: 512MiB, 2GB, 25%")->type_name("SIZE");
  verb->add_flag("-q,--quiet", options.quiet, "Errors only");
  verb->add_flag("-v,--verbose", options.verbose, "More detail");
  return verb;
}

}  // namespace lowtide::cli
