// lowtide, the command.
#include <fmt/format.h>

#include "lowtide/budget.h"
#include "lowtide/cli/failure.h"
#include "lowtide/cli/json.h"
#include "lowtide/cli/session.h"
#include "lowtide/cli/signals.h"
#include "lowtide/memory/budget.h"

namespace lowtide::cli {
namespace {

void add_verbs(CLI::App& app, Session& session) {
  app.name("lowtide");
  app.description("Arrays larger than memory, under an enforced memory budget.");
  app.footer(
      "Example:\n  lowtide info x.npy\n\n"
      "`lowtide VERB --help` says more. Exit status: 0 fine, 1 a problem was found,\n2 wrong use.\n");
  app.set_version_flag("-V,--version", "lowtide " LOWTIDE_VERSION);
  app.require_subcommand(1);
  add_info(app, session);
  add_check(app, session);
  add_convert(app, session);
  add_bench(app, session);
  add_env(app, session);
  add_completion(app, session);
  add_doctor(app, session);
}

// The verb that was being typed, for the hint.
std::string typed_verb(const CLI::App& app) {
  std::string typed = "lowtide";
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    typed += " " + at->get_name();
  }
  return typed;
}

int as_int(Exit exit) { return static_cast<int>(exit); }

int run(Session& session) {
  const SharedOptions& options = session.options;
  try {
    watch_signals();
    if (!options.budget.empty()) Budget::process().set_limit(parse_bytes(options.budget), "--budget");
    return as_int(session.run());
  } catch (const CancelledError&) {
    print_failure({"CancelledError", "interrupted", "", Exit::interrupted});
    return as_int(Exit::interrupted) + signal_seen();
  } catch (...) {
    const Failure failure = current_failure();
    print_failure(failure);
    if (options.json) {
      Json error = {{"kind", failure.kind}, {"message", failure.message}};
      if (!failure.hint.empty()) error["hint"] = failure.hint;
      print_json({{"error", std::move(error)}});
    }
    return as_int(failure.exit);
  }
}

// CLI11 says of both that a subcommand is required.
void refuse_unknown_verb(const CLI::App& app, int argc, char** argv) {
  std::string verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (argc > 1 && verb->get_name() == argv[1]) return;
    verbs += (verbs.empty() ? "" : ", ") + verb->get_name();
  }
  if (argc > 1 && argv[1][0] == '-') return;
  throw UsageError(argc > 1 ? std::string(argv[1]) + " is not a verb" : "say what to do", "one of " + verbs);
}

int main(int argc, char** argv) {
  CLI::App app;
  Session session;
  add_verbs(app, session);
  try {
    refuse_unknown_verb(app, argc, argv);
    app.parse(argc, argv);
  } catch (const UsageError& e) {
    print_failure({"UsageError", e.what(), e.hint(), Exit::wrong_use});
    return as_int(Exit::wrong_use);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    print_failure({"UsageError", e.what(), typed_verb(app) + " --help", Exit::wrong_use});
    return as_int(Exit::wrong_use);
  }
  const int status = run(session);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  print_failure({"IoError", "cannot write to standard output", "", Exit::problem});
  return as_int(Exit::problem);
}

}  // namespace
}  // namespace lowtide::cli

int main(int argc, char** argv) { return lowtide::cli::main(argc, argv); }
