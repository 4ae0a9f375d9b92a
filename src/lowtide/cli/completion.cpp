// lowtide completion: what a shell needs to complete the verbs and options of this very program.
#include <fmt/format.h>

#include "lowtide/cli/session.h"

namespace lowtide::cli {
namespace {

std::vector<const CLI::App*> verbs_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Its verbs and long options, as a shell's list.
std::string words_of(const CLI::App& app) {
  std::string words;
  for (const CLI::App* verb : verbs_of(app)) words += verb->get_name() + " ";
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  if (!words.empty()) words.pop_back();
  return words;
}

// One line for each verb, those within others too.
void add_cases(const CLI::App& app, const std::string& typed, std::string& cases) {
  for (const CLI::App* verb : verbs_of(app)) {
    const std::string all = typed.empty() ? verb->get_name() : typed + " " + verb->get_name();
    add_cases(*verb, all, cases);
    cases += fmt::format("    '{}'*) words='{}' ;;\n", all, words_of(*verb));
  }
}

std::string script(const CLI::App& app) {
  std::string cases;
  add_cases(app, "", cases);
  return fmt::format(R"(# lowtide's completion for bash and zsh.
[ -n "$ZSH_VERSION" ] && autoload -U +X compinit bashcompinit && compinit && bashcompinit
_lowtide() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words='{}'
  case "${{COMP_WORDS[*]:1:COMP_CWORD-1}} " in
{}  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _lowtide lowtide
)",
                     words_of(app), cases);
}

}  // namespace

void add_completion(CLI::App& app, Session& session) {
  CLI::App* verb = add_verb(app, session,
                            {"completion", "Completion of verbs and options, for bash and zsh.",
                             "lowtide completion >> ~/.bashrc    (or ~/.zshrc)"});
  verb->callback([&] {
    session.run = [&] {
      if (!session.options.quiet) std::fputs(script(app).c_str(), stdout);
      return Exit::fine;
    };
  });
}

}  // namespace lowtide::cli
