// What every verb shares: the options each one takes, and what the process says when it ends.
//
//   CLI::App* verb = add_verb(app, session, {"info", "Describe array files.", "lowtide info x.npy"});
//   verb->callback([=, &session] { session.run = [=, &session] { return info(session.options, *paths); }; });
//
// Not thread-safe: one session, made by main().
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

namespace lowtide::cli {

enum class Exit : int {
  fine = 0,
  problem = 1,  // a bad file, an IO error, a budget that is too small
  wrong_use = 2,
  interrupted = 128,  // plus the signal's number
};

struct SharedOptions {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  std::string budget;  // empty: the library's default
};

struct Session {
  SharedOptions options;
  std::function<Exit()> run;  // set by the verb that was given
};

struct VerbText {
  std::string name;
  std::string description;
  std::string example;  // one or more lines, shown at the end of --help
};
CLI::App* add_verb(CLI::App& parent, Session& session, const VerbText& text);
// Refuses "-": there are only files. A whole number below `least` is refused as well.
CLI::Option* is_path(CLI::Option* option);
CLI::Option* is_whole_number(CLI::Option* option, std::uint64_t least);

// One file a verb.
void add_info(CLI::App& app, Session& session);
void add_check(CLI::App& app, Session& session);
void add_convert(CLI::App& app, Session& session);
void add_bench(CLI::App& app, Session& session);
void add_env(CLI::App& app, Session& session);
void add_completion(CLI::App& app, Session& session);
void add_doctor(CLI::App& app, Session& session);

}  // namespace lowtide::cli
