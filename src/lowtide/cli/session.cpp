#include "lowtide/cli/session.h"

#include <fmt/format.h>

#include <charconv>

#include "lowtide/cli/failure.h"

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

CLI::Option* is_path(CLI::Option* option) {
  return option->check([](const std::string& path) {
    if (path == "-")
      throw UsageError("- is no file, and lowtide reads and writes files only, not pipes",
                       "cat > x.npy, then lowtide info x.npy (a file that is called so is ./-)");
    return std::string();
  });
}

CLI::Option* is_whole_number(CLI::Option* option, std::uint64_t least) {
  const std::string flag = option->get_name();
  return option->check([=](const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least)
      throw UsageError(fmt::format("{} {}: not a whole number from {} on", flag, text, least),
                       fmt::format("type for example {} {}", flag, 1024));
    return std::string();
  });
}

}  // namespace lowtide::cli
